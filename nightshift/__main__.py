"""The command line: `python -m nightshift`."""

import sys

from nightshift.client.quick import main

if __name__ == "__main__":
    sys.exit(main())
