"""Right answers as ordinary engineers write them, wrong answers, and the tests of both.

A judge must never refuse one of the right answers. The texts are the `*.txt` files of this folder, one file for each
kind of code. A pair begins with a line `=== NAME: PATH OF THE ANSWER` (the path of the tests may follow after a comma)
and the text of the tests. The other parts of the pair follow, each below a line of its own:

    --- right           the answer
    --- wrong           another answer, which must be refused: a whole text, or removed (`-`) and added (`+`) lines
    --- also PATH       a further file of the answer
    --- beside PATH     a further file that comes with the tests
    --- base PATH       a file of the commit that the task starts from
    --- packages NAME…  packages that the answer may import

All texts are our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bench.pairs import Pair

FOLDER = Path(__file__).resolve().parent
_PART = re.compile(r"^--- (right|wrong|also|beside|base|packages)(?: (.*))?\n", re.MULTILINE)
_NOT_TURNED = "the changed operand, or the other operator, raises an error in the copy, which must be an AssertionError"
_SKIPPED = "a test that is skipped, to be done or expected to fail is no pass, whoever wrote it"
KNOWN_REFUSALS = {
    "membership that reads its operand": f"`in` reads a text: {_NOT_TURNED}",
    "equal to the texts that say the same": f"`==` reads a text: {_NOT_TURNED}",
    "tests that a loop makes": "`setattr` makes them while the file runs, so no outline of the file lists them",
    "a test that another system skips": _SKIPPED,
    "a test that is expected to fail": _SKIPPED,
    "JavaScript: tests that are still to be written": _SKIPPED,
    "coroutine tests, where each warning is an error": "pytest-asyncio's setting is unknown, which is such a warning",
}
"""Known false alarms: the name of a pair whose right answer is still refused, and the reason of the refusal."""


def pairs(folder: Path = FOLDER) -> tuple[Pair, ...]:
    """Return all pairs, file by file.

    Raises:
        ValueError: a text breaks the form that this module's docstring describes, or two pairs share a name.
    """
    all_pairs = tuple(
        pair for path in sorted(folder.glob("*.txt")) for pair in _pairs(path.name, path.read_text(encoding="utf-8"))
    )
    names = [pair.name for pair in all_pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two pairs are called {twice[0]!r}")
    return all_pairs


def _pairs(where: str, text: str) -> Iterator[Pair]:
    for part in ("\n" + text).split("\n=== ")[1:]:
        head, _, rest = part.partition("\n")
        try:
            yield _pair(head, rest)
        except ValueError as error:
            raise ValueError(f"{where}, {head!r}: {error}") from None


def _pair(head: str, text: str) -> Pair:
    name, _, places = head.rpartition(": ")
    path, _, test_path = places.partition(", ")
    tests, *parts = _PART.split(text)
    also, beside, base = dict[str, str](), dict[str, str](), dict[str, str]()
    folders = {"also": also, "beside": beside, "base": base}
    rights, wrongs, packages = list[str](), list[str](), list[str]()
    for kind, heading, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind in folders:
            folders[kind][heading] = _text(body)
        else:
            {"right": rights, "wrong": wrongs, "packages": packages}[kind].append(heading or _text(body))
    if len(rights) != 1:
        raise ValueError(f"has {len(rights)} right answers, not one")
    return Pair(
        name=name,
        path=path,
        test_path=test_path or _usual_test_path(path),
        tests=_text(tests),
        right=rights[0],
        wrong=tuple(_wrong(rights[0], wrong) for wrong in wrongs),
        also=also,
        beside=beside,
        base=base,
        packages=tuple(name for line in packages for name in line.split()),
    )


def _text(part: str) -> str:
    return part.strip("\n") + "\n"


def _usual_test_path(path: str) -> str:
    source = PurePosixPath(path)
    return f"test_{source.name}" if source.suffix == ".py" else f"test/{source.stem}.test{source.suffix}"


def _wrong(right: str, text: str) -> str:
    """Return the complete text of a wrong answer, which may be written as changed lines of the right answer."""
    lines = text.splitlines(keepends=True)
    if not all(line.startswith(("-", "+")) for line in lines):
        return text
    old, new = ("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    if right.count(old) != 1:
        raise ValueError(f"what the wrong answer lacks stands {right.count(old)} times in the right one, not once")
    return right.replace(old, new)
