"""Python: the files that are staged for a run of pytest, with must-fail copies of the tests."""
