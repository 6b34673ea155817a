"""Connections to other machines: the hub, forges and tool servers."""
