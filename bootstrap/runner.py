"""Prepares what is shown inside the sandbox: libraries, our code, and the programs of other packages.

python -m bootstrap.runner --prepare DIR
"""

from __future__ import annotations

from bootstrap.repair import PROGRAMS
from sandbox.runtime import main

if __name__ == "__main__":
    main(PROGRAMS)
