"""The web server: the API, the pages and the event stream, implemented in `nightshift/server/`."""
