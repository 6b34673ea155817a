"""Go: chooses the files to stage for a test run, creates their must-fail copies, and starts the run."""
