"""Prepares what is shown inside the sandbox: libraries, our code, and the programs of other packages.

python -m nightshift.app.runner --prepare DIR
"""

from __future__ import annotations

from nightshift.app.repair import PROGRAMS
from nightshift.sandbox.runtime import main

if __name__ == "__main__":
    main(PROGRAMS)
