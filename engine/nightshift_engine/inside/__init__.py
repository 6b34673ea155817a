"""What runs inside the sandbox for the repair engine, shown there as `nightshift_repair` beside `nightshift_inside`."""
