"""Runs at the start of each Python of an environment, by a line of its `shown.pth`; prepares the recording of tests."""

import os

from . import VARIABLE

if VARIABLE in os.environ:
    from . import environment_makers, unittest_recorder

    environment_makers.attach()
    unittest_recorder.attach()
