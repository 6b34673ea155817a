"""Layer 4 of a verdict: held-out cases.

No prompt shows these cases to a model. Their results are compared by value outside of the sandbox.
"""
