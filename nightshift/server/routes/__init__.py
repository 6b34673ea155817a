"""Contains the API by resource: each module holds the contracts and the views of one."""
