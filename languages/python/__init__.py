"""What is known of Python: how its tests are configured."""
