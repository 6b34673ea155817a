"""The static checker: reads a change's additions before anything runs, and reports code that should not simply run.

It is advice and evidence, not the boundary; the sandbox is the boundary. It blocks code that is easy to fix, and the
message names the fix. It asks if a real need cannot be distinguished from a wrong one, and notes the rest. So a false
alarm costs one try at most, and seldom a task.
"""
