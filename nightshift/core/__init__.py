"""The shared vocabulary: values, tables of states, ports and errors. Nothing in here does I/O."""
