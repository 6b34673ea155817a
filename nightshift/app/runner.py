"""Prepares the files that are visible inside the sandbox: libraries, our code, and the programs of other packages.

python -m nightshift.app.runner --prepare DIR
"""

from __future__ import annotations

from nightshift.sandbox.runtime import list_installed_programs, main

if __name__ == "__main__":
    main(list_installed_programs())
