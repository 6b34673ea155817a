"""Whatever lies on other machines: the hub, forges, servers of tools."""
