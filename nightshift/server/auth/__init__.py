"""Who may speak to the daemon, and how much: the guard in front of everything, the token, limits of requests."""
