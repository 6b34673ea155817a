"""The API by areas: each module holds the contract and the views of one."""
