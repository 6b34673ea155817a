"""Layer 4 of a verdict: cases that no prompt shows, judged by value outside of the sandbox."""
