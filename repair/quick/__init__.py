"""Mends that need no search: what the compiler's or the interpreter's own message all but says.

Pure functions from texts and troubles to new texts; nothing is run. What they yield is no more than likely, and is
tried like any other candidate.
"""

from repair.quick.mend import Mend
from repair.quick.mending import quick_mends

__all__ = ["Mend", "quick_mends"]
