"""Go: the files that are staged for a test run, their must-fail copies, and the launch of that run."""
