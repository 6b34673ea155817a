"""Looks for evidence against a change whose tests pass.

Each module makes one comparison and reports findings. `verdict.judge` decides what the findings mean for the verdict.
"""
