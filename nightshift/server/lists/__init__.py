"""Lists of tasks, acts upon many, and what was done over time."""
