"""The values, state tables, ports and errors that all packages share. Nothing in this package does I/O."""
