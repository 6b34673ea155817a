"""Shapes failures for a model: few, distinct, and without details that change from run to run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nightshift.core.tasks.verdicts import Failure
from nightshift.core.text.masking import Masker, printable
from nightshift.sandbox.cleaning import Mask
from nightshift.verdict.answer import Fault

MAX_FAILURES = 10
MAX_MESSAGE = 2000
MAX_RAW = 64_000  # characters; limits the work on the reports of a hostile run
MAX_OUTPUT_LINES = 20
AROUND = 3

_IMPORT_KINDS = frozenset(
    {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError", "BuildError"}
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_SECONDS = re.compile(r"\b(in|after|took) \d+\.\d+ ?s(econds)?\b")
_TEMPORARY = re.compile(r"/tmp/(pytest-of-\w+/pytest-\d+/|plain-[0-9a-f]+/|tmp\w{8}/?)")  # noqa: S108 (a text, not a file)
_WORK = re.compile(r"(?:file://)?(/var/tmp/\S*?/work|/work)/")
_SHAPES_ALONE: Mask = Masker()


@dataclass(frozen=True, slots=True)
class Texts:
    """Cleans the texts of a run, and reads the run's files for excerpts.

    Args:
        tests: the paths of the run's test files.
        text_of: reads a file by its path.
        mask: removes secrets from texts before the texts are shortened.
    """

    tests: frozenset[str]
    text_of: Callable[[str], str | None]
    mask: Mask = _SHAPES_ALONE

    def text(self, raw: str) -> str:
        """Return a message without secrets and without details that change from run to run.

        Memory addresses, durations, folders of the run and unprintable characters are removed or replaced, and the
        message is shortened to `MAX_MESSAGE` characters.
        """
        raw = self.mask(raw[:MAX_RAW])
        raw = _TEMPORARY.sub("/tmp/", _WORK.sub("", raw))  # noqa: S108 (a text, not a file)
        raw = _SECONDS.sub(r"\1 … s", _ADDRESS.sub("0x…", raw))
        return printable(raw, max_chars=MAX_MESSAGE).strip()


def show_id(nodeid: str) -> str:
    """Return a test's id in its original form: the run escapes brackets in node:test titles."""
    return nodeid.replace("\u27e6", "[")


def failure(nodeid: str, fault: Fault, output: str, texts: Texts, *, collecting: bool = False) -> Failure:
    """Return a failure in the form for a model, with its innermost frame in the tree and the lines around it.

    Args:
        nodeid: the id of the test or file in the run.
        fault: the cause of the failure.
        output: the output that the test printed.
        texts: cleans the texts of the run.
        collecting: true if the file could not be collected.
    """
    own = [frame for frame in fault.frames if not frame[0].startswith(("/", "<"))]
    path, line, function = own[-1] if own else ("", 0, "")
    lines = (texts.text_of(path) or "").split("\n") if path else []
    message = texts.text(fault.message)
    if not message and 0 < line <= len(lines):
        message = lines[line - 1].strip()
    kind = fault.kind if not collecting or fault.kind in _IMPORT_KINDS else f"CollectionError: {fault.kind}"
    return Failure(
        id=show_id(nodeid),
        kind=kind,
        message=message,
        frame=texts.text(f"{path}:{line} in {function}") if path else "",
        excerpt=_excerpt(lines, line),
        output=tail(texts.text(output)),
    )


def distinct(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return at most `MAX_FAILURES` distinct failures.

    Failures that hide others come first: import errors, collection errors and reached limits.
    """
    seen: dict[tuple[str, str, str], Failure] = {}
    for failure in failures:
        seen.setdefault((failure.kind, failure.frame, "" if failure.frame else failure.message), failure)
    ordered = sorted(seen.values(), key=lambda failure: not _hides_others(failure.kind))
    return tuple(ordered[:MAX_FAILURES])


def tail(text: str) -> str:
    """Return the last `MAX_OUTPUT_LINES` lines of a text."""
    return "\n".join(text.strip("\n").split("\n")[-MAX_OUTPUT_LINES:])


def _excerpt(lines: list[str], line: int) -> str:
    if not 0 < line <= len(lines):
        return ""
    first = max(1, line - AROUND)
    shown = lines[first - 1 : line + AROUND]
    numbered = (f"{'>' if n == line else ' '} {n:4} {text}" for n, text in enumerate(shown, first))
    return printable("\n".join(numbered), max_chars=MAX_MESSAGE)


def _hides_others(kind: str) -> bool:
    return kind in _IMPORT_KINDS or kind.startswith(("CollectionError", "Timeout", "OutOfMemory", "OutputLimit"))
