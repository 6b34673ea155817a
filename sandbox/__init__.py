"""How untrusted code runs: one isolation a file, and how a suite is staged, run and judged."""
