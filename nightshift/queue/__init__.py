"""The queue's rules and rows, each a function inside one transaction; `queue_manager` puts them together."""
