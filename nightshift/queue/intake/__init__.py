"""The inbox: reads and watches `tasks.yaml`, and submits new entries to the queue. Never writes the file."""
