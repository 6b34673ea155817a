"""JavaScript and TypeScript: the files that are staged for a run of node:test, with must-fail copies of the tests."""
