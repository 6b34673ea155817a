"""Begins in each Python of an environment, by a line of its `shown.pth`: has unittest followed in a recorded run."""

import os

from . import VARIABLE

if VARIABLE in os.environ:
    from . import unittest_recorder

    unittest_recorder.attach()
