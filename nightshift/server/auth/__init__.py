"""Guards all requests: checks of host, origin and token, and limits on what a client may send."""
