"""Guard in front of everything: who may speak to the daemon and how much, the token, limits of requests."""
