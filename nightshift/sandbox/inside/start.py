"""Begins in each Python of an environment, by a line of its `shown.pth`: prepares what starts recorded tests."""

import os

from . import VARIABLE

if VARIABLE in os.environ:
    from . import environment_makers, unittest_recorder

    environment_makers.attach()
    unittest_recorder.attach()
