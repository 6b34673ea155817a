"""What `cli.py --doctor` looks at: a check is a function in the table of `examination`. Nothing writes to a home."""
