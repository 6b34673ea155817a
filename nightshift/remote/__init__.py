"""Connections to other machines: the hub, forges, servers of tools."""
