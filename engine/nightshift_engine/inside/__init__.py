"""Code of the repair engine inside the sandbox, shown there as `nightshift_repair` beside `nightshift_inside`."""
