"""The model loop: plan, code, test, reflect. It depends only on `core` and on the tools that are passed in."""
