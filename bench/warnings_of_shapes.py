"""How often the warning of code that failed before is wrong, and how often it is missing.

    .venv/bin/python bench/warnings_of_shapes.py [--most 40] [--seed 1]

Failures are faults that `engine/bench/breakage.py` puts into the programs of `engine/bench/programs/` and `examples/`,
`--most` of each at most; memory learns the functions that the right program does not have. Then every function of the
right programs is looked up: a hit is a false alarm. So is one on the functions of this project itself, of which none
is a fault that was put in. Last, each fault is written again with other names: one that is not known again was missed.
Functions that are too small to have a fingerprint are counted apart.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import ast
import random
import time
from collections.abc import Iterator

from engine.bench.breakage import faults
from engine.bench.corpus import programs
from nightshift.core.code.function_shapes import Shape, changed_by_fix, shapes, shapes_of

OWN = tuple(
    f"nightshift/{name}" for name in ("core", "agent", "storage", "models", "attempt", "sandbox", "verdict", "server")
)


def right_programs() -> dict[str, str]:
    """The right programs, name to text."""
    own = {path.name: path.read_text() for path in sorted((ROOT / "examples").glob("*.py"))}
    return own | {program.name: program.text for program in programs()}


def renamed(text: str) -> str:
    """The same program with other names for all that its functions take and bind."""
    tree = ast.parse(text)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]:
        bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        outer = {x for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal) for x in n.names}
        names = {name: f"{name}_too" for name in (bound | stored) - outer if not name.endswith("_too")}
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
            elif isinstance(node, ast.arg):
                node.arg = names.get(node.arg, node.arg)
    return ast.unparse(tree)


def _learned(texts: dict[str, str], most: int, chance: random.Random) -> Iterator[tuple[str, set[str]]]:
    """Faulty programs with the functions that memory would keep of them."""
    for name, text in texts.items():
        found = list(faults(text))
        for fault in chance.sample(found, min(most, len(found))):
            yield fault.text, changed_by_fix({f"{name}.py": fault.text}, shapes_of({f"{name}.py": text}))


def run(most: int, seed: int) -> bool:
    """Print the figures; true without a false alarm on the right programs."""
    texts, known, small, missed = right_programs(), set[str](), 0, 0
    learned = list(_learned(texts, most, random.Random(seed)))
    for _, digests in learned:
        known |= digests
        small += not digests
    right = [one for text in texts.values() for one in shapes(text)]
    own = [one for folder in OWN for path in (ROOT / folder).rglob("*.py") for one in shapes(path.read_text())]
    began = time.perf_counter()
    alarms = _hits(right, known)
    print(f"{len(learned)} faults learned ({len(known)} functions; {small} in functions too small to be known again)")
    print(f"right programs: {len(alarms)} false alarms in {len(right)} functions: {', '.join(alarms[:9])}")
    print(f"this project: {len(_hits(own, known))} false alarms in {len(own)} functions")
    for text, digests in learned:
        missed += not digests <= {one.digest for one in shapes(renamed(text))}
    print(f"written again with other names: {missed} of {len(learned) - small} missed")
    print(f"{(time.perf_counter() - began) * 1000 / len(learned):.1f} ms for each change")
    return not alarms


def _hits(found: list[Shape], known: set[str]) -> list[str]:
    return [one.name for one in found if one.digest in known]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    if not run(a.most, a.seed):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
