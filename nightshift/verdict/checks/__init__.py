"""The static checker: reads the code that a change adds, before it runs, and reports suspicious code.

The checker only advises and records evidence; the sandbox is the security boundary. Suspicious code that is easy to
replace is blocked, with a message that names the replacement. If the checker cannot distinguish a legitimate use from a
wrong one, it asks the owner. All other suspicious code becomes a note. A false alarm therefore costs at most one try,
and seldom a whole task.
"""
