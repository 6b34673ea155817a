"""Go: what is staged for a run of its tests, with must-fail copies of them, and what starts that run."""
