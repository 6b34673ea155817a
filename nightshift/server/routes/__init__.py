"""Contains the views of the API. Each module holds the contracts and the views of one resource."""
