"""Lets tests import the engine's code inside the sandbox."""

import sys

from nightshift.sandbox import inside

# The engine's code inside the sandbox imports its neighbours by the package name `nightshift_inside`.
sys.modules.setdefault("nightshift_inside", inside)
