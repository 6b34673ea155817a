"""Run a few pieces of code that nobody has read. After `make setup`: `.venv/bin/python examples/run_snippet.py`."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the checkout from any working directory

from nightshift.sandbox import SNIPPET_LIMITS, run_python

SUM = "import sys\nfrom numbers_of import read\n\nprint(sum(read(sys.stdin)))\n"
READ = "def read(stream):\n    return [int(line) for line in stream]\n"
CURIOUS = "import urllib.request\n\nurllib.request.urlopen('http://example.org', timeout=2)\n"
GREEDY = "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 20))\n"
ENDLESS = "while True:\n    pass\n"


async def main() -> None:
    """Run a snippet that ends well, and three that the sandbox stops."""
    fine = await run_python(SUM, stdin="1\n2\n39\n", files={"numbers_of.py": READ})
    print("sum:", fine.stdout.strip(), "ok:", fine.ok)

    curious, greedy, endless = await asyncio.gather(
        run_python(CURIOUS),
        run_python(GREEDY, limits=replace(SNIPPET_LIMITS, memory_mb=64)),
        run_python(ENDLESS, limits=replace(SNIPPET_LIMITS, wall_s=0.5)),
    )
    print("curious:", curious.exit_code, curious.stderr.strip().splitlines()[-1].partition(":")[0])
    print("greedy:", greedy.ok, "endless:", endless.ended)


asyncio.run(main())
