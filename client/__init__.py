"""The session's parts: two doors to the daemon (its API, its database), what is shown, and the interactive prompt."""
