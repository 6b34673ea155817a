"""JavaScript and TypeScript suites: what is staged for a run of node:test, with must-fail copies of its tests.

The parts answer to those for pytest one floor up (`plan`, `outline`, `perturb`, `copies`, `twins`), and what a run
proved is judged by the same code.
"""
