"""The shared vocabulary: values, state tables, ports and errors. Nothing in this package does I/O."""
