"""JavaScript and TypeScript: what is staged for a run of node:test, with must-fail copies of its tests."""
