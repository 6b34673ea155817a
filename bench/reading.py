"""Measures whether the time to parse a text of a model or a task grows linearly with the length of the text.

    .venv/bin/python bench/reading.py [--lengths 8000 32000 128000] [--rounds N] [--all]

Each reader (a function that parses a text) gets texts that repeat one piece. Some pieces open something and never close
it, because readers tend to start again at these. The columns show processor microseconds per thousand characters, the
best of some rounds. If the time is linear in the length, the columns are alike; if it is quadratic, the last column is
sixteen times the first. The piece with the largest growth is shown for each reader; `--all` shows every piece. A
refused text counts as read.
"""

# ruff: noqa: E402  the path comes first
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

import argparse
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nightshift.agent.replies import edits, json_replies, reader
from nightshift.agent.replies.values import Edit
from nightshift.core.dialogue import Completion
from nightshift.core.errors import NightshiftError
from nightshift.core.text.masking import Masker, printable
from nightshift.queue.intake.tasks_file import read_tasks

Read = Callable[[str], object]

FENCES = (
    "```\n", "```python\n```\n", "```python path=a.py\n", "```python path=a.py\nx = 1\n```\n",
    "```md path=a.md\n```\n```\n", "~~~x\n",
    "`" * 40, "# a.py\n", '"""\n```\n', "<think>", "/* ", '"\\', "'x\n", " " * 50, "a" * 40 + "\n",
)  # fmt: skip
MARKS = (
    "<<<<<<< SEARCH\n", "=======\n", "<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n", "--- a\n+++ b\n@@\n",
    "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "@@\n",
)  # fmt: skip
BRACKETS = ("{", "{[" * 5, '{"a": ', '{"a": "', "}{", '"\\', "```json\n{\n")
ESCAPES = ("\x1b[31mred\x1b[0m ", "\x1b[", "\x1b[1;" + "3;" * 40, "\\x1b[38;5;200mx", "\x1b]0;title", "\x9b", "a", "\n")
LINES = ("a line of a log\n", "x" * 3000, "\x00", "\r", "\u202e", "sk-live-0123", "é", "\ud800", "a\\\n")
YAML = (
    "- description: do it\n", "- {description: do it}\n", "- [", "- {a: ", "? ", "- &a x\n", "- *a\n", '- "',
    "- |\n  text\n", "# a note\n", "a: b\n", "- ", "  ", "!!str ",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The times of one parsing function for one piece: seconds per character, by the length of the text."""

    reader: str
    piece: str
    costs: tuple[float, ...]

    @property
    def growth(self) -> float:
        """Ratio of the time per character of the longest text to that of the shortest."""
        return self.costs[-1] / self.costs[0]


def reply(text: str) -> object:
    """Parse a reply that writes files."""
    return reader.parse(Completion(text=text, backend="bench", model="m"), expected=("a.py",))


def edit(text: str) -> object:
    """Apply an edit whose search text resembles the file but never matches."""
    return edits.apply_edit(text, Edit(path="a.py", search=text[: len(text) // 2] + "\nnot there", replace="x"))


READERS: Mapping[str, tuple[Read, Sequence[str]]] = {
    "reply": (reply, (*FENCES, *MARKS, *BRACKETS)),
    "reply in a fence": (lambda text: reply("```js path=a.js\n" + text), (*FENCES, *MARKS, *BRACKETS)),
    "JSON reply": (json_replies.find_json, (*BRACKETS, *FENCES)),
    "edit sections": (lambda text: list(edits.sections(text)), MARKS),
    "patches": (edits.patches, MARKS),
    "applied edit": (edit, ("x = 1\n", "\n", "    pass\n", "a" * 40 + "\n")),
    "printable text": (printable, (*LINES, *ESCAPES)),
    "masked text": (Masker(["sk-live-0123456789", "a" * 24]), (*LINES, "sk-live-", "a" * 23)),
    "tasks.yaml": (read_tasks, YAML),
}


def seconds(read: Read, text: str, rounds: int) -> float:
    """Return the minimum time of reading a text."""
    best = float("inf")
    for _ in range(rounds):
        began = time.thread_time()
        with contextlib.suppress(NightshiftError, ValueError, RecursionError):
            read(text)
        best = min(best, time.thread_time() - began)
    return best


def measure(name: str, lengths: Sequence[int], rounds: int) -> list[Row]:
    """Measure one parsing function on all its pieces."""
    read, pieces = READERS[name]
    rows = []
    for piece in dict.fromkeys(pieces):
        texts = [(piece * (length // len(piece) + 1))[:length] for length in lengths]
        costs = tuple(seconds(read, text, rounds) / len(text) for text in texts)
        rows.append(Row(reader=name, piece=piece, costs=costs))
    return rows


def show(piece: str) -> str:
    """Format a piece for a table."""
    text = ascii(piece)
    return text if len(text) <= 34 else f"{text[:31]}..."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[8_000, 32_000, 128_000], help="in characters")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="every piece, instead of the one that grows most")
    asked = parser.parse_args()
    lengths = sorted(asked.lengths)
    head = "".join(f"{length:>10,}" for length in lengths)
    print(f"{'reader':<17}{'piece':<36}{head}{'growth':>9}   (us of a processor for 1,000 characters)")
    for name in READERS:
        rows = sorted(measure(name, lengths, asked.rounds), key=lambda row: -row.growth)
        for row in rows if asked.all else rows[:1]:
            costs = "".join(f"{cost * 1e9:>10.1f}" for cost in row.costs)
            print(f"{row.reader:<17}{show(row.piece):<36}{costs}{row.growth:>8.1f}x", flush=True)


if __name__ == "__main__":
    main()
