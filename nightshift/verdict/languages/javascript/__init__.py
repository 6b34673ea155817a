"""JavaScript and TypeScript: chooses the files to stage for a test run, and creates must-fail copies of the tests."""
