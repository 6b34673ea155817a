"""Layer 4 of a verdict: cases that no prompt shows, judged outside the sandbox by value."""
