"""The inbox: reads and watches `tasks.yaml`, and puts what is new into the queue. Never writes the file."""
