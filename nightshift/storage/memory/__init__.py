"""Long-term memory: failures of earlier tasks and their fixes, and the search for those similar to a new case."""
