"""Python: what is staged for a run of pytest, with must-fail copies of its tests."""
