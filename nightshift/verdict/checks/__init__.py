"""The static checker: reads what a change adds, and says what should not simply run, before anything does.

It is advice and evidence, not the boundary; the sandbox is that. What it blocks has an easy mend, which the message
names; it asks where a real need cannot be told from a wrong one; the rest is noted. So a false alarm costs a try at
most, and seldom a task.
"""
