"""The web server: the API, the pages and the event stream. Behind it is `nightshift/server/`."""
