"""Looks for evidence against a change whose tests pass.

Each module makes one comparison and reports findings. What the findings mean for the verdict is decided elsewhere.
"""
