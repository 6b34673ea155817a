"""The inbox: reads and watches `tasks.yaml`, and submits new entries to the queue. It never writes the file."""
