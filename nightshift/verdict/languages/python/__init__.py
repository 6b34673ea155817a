"""Python: chooses the files to stage for a run of pytest, and creates must-fail copies of the tests."""
