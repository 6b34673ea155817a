"""The interface of a language, and the faults that its mutants are made of.

To add a language, add a package with a module of these functions, and name it in `verdict.languages.dialect_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.javascript import node_text
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.sandbox.source import Edit
from nightshift.verdict.languages.plan import Copies, Plan, SuiteFile

if TYPE_CHECKING:
    from tree_sitter import Node

PLAIN, LIKELY, DOUBTFUL = 0, 1, 2
"""The ranks: a fault that nearly always shows, one that usually shows, and one that often cannot be noticed."""
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An edit that makes a function wrong.

    Attributes:
        kind: the operator's name.
        rank: higher for a fault that is likelier to stay invisible.
        line: its line, counted from 1.
        edit: the replacement.
        was: the original code in short, for people.
        now: the new code, for people.
        needs_other: whether the edit calls the function that returns another value of the same type.
    """

    kind: str
    rank: int
    line: int
    edit: Edit
    was: str
    now: str
    needs_other: bool = False


def fault_at(kind: str, rank: int, node: Node, edit: Edit) -> Fault:
    """Return the fault that an edit within a node of a syntax tree makes."""
    raw = node.text or b""
    start, end = edit.start - node.start_byte, edit.end - node.start_byte
    now = raw[:start].decode("utf-8", "replace") + edit.text + raw[end:].decode("utf-8", "replace")
    line = node.start_point.row + 1
    return Fault(kind=kind, rank=rank, line=line, edit=edit, was=shorten(node_text(node)), now=f"`{shorten(now)}`")


def shorten(text: str) -> str:
    """Return a piece of code on one line, shortened for people."""
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


Text = Callable[[], str | None]
"""Generates a whole file with a fault in it; None if it does not parse, which takes time proportional to the file."""


class TestDialect(Protocol):
    """A language and its test runner; each is a module with these functions."""

    def make(self, job: SuiteJob, imports: ImportCache, runtime: Runtime, /) -> Plan:
        """Plan the run of a job's tests on its changed tree.

        Args:
            job: the job.
            imports: caches the imports of files.
            runtime: the interpreter and libraries inside the sandbox.

        Raises:
            SandboxError: the test runner of this language is not installed.
        """
        ...

    def checks_something(self, text: str, /) -> bool:
        """Check whether a test file has an assertion that can fail."""
        ...

    def plan_copies(
        self, planned: Plan, passed: Collection[str], mended: Collection[str], text_of: Callable[[str], str | None], /
    ) -> Copies | None:
        """Plan the must-fail copies of a run, in place; None if nothing can be copied.

        Args:
            planned: the run.
            passed: the tests that passed in it.
            mended: base files with tests that fail without the change.
            text_of: reads a file with the change.
        """
        ...

    def list_required(self, file: SuiteFile, text_of: Callable[[str], str | None], /) -> frozenset[str]:
        """List the tests that a file must have; `text_of` reads a file with the change."""
        ...

    def mutate(self, path: str, text: str, lines: Collection[int], /) -> Iterator[tuple[str, Fault, Text]]:
        """List every fault that can be put into the functions of a file at these lines.

        Args:
            path: the path of a source of this language.
            text: the source; if it does not parse, there are no faults.
            lines: the line numbers, counted from 1.

        Returns:
            The function's name, the fault, and a function that generates the whole file with the fault.
        """
        ...
