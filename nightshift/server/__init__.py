"""The dashboard, the API and the live stream of one daemon."""
