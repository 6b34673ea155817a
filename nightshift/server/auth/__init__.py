"""Guards all requests: host and origin checks, the token, limits on requests."""
