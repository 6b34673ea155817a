"""The queue's rules and rows, each a function inside one transaction; `manager` combines them."""
