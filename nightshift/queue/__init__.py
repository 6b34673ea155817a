"""The rules of the queue and its rows in the database.

Each rule is a function that runs inside one transaction; `manager` combines them.
"""
