"""Code of the repair engine that runs in the sandbox, as the package `nightshift_repair` beside `nightshift_inside`."""
