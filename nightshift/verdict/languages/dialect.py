"""The interface that each language implements, and the data type of the faults from which mutants are made.

To add a language, add a package with a module that has the functions of `TestDialect`, and name the module in
`verdict.languages.dialect_of`.
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
"""Ranks of faults.

Tests nearly always notice a PLAIN fault, usually a LIKELY fault, and often cannot notice a DOUBTFUL fault.
"""
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An edit that makes a function wrong.

    Attributes:
        kind: the name of the mutation operator.
        rank: higher for a fault that tests are less likely to notice.
        line: the line number of the fault, counted from 1.
        edit: the edit of the file.
        was: the original code, shortened for people.
        now: the new code, shortened for people.
        needs_other: true if the edited code calls a helper function that returns another value of the same type.
    """

    kind: str
    rank: int
    line: int
    edit: Edit
    was: str
    now: str
    needs_other: bool = False


def fault_at(kind: str, rank: int, node: Node, edit: Edit) -> Fault:
    """Return a fault for an edit inside a node of a syntax tree."""
    raw = node.text or b""
    start, end = edit.start - node.start_byte, edit.end - node.start_byte
    now = raw[:start].decode("utf-8", "replace") + edit.text + raw[end:].decode("utf-8", "replace")
    line = node.start_point.row + 1
    return Fault(kind=kind, rank=rank, line=line, edit=edit, was=shorten(node_text(node)), now=f"`{shorten(now)}`")


def shorten(text: str) -> str:
    """Return a piece of code on one line, cut to the length that messages to people allow."""
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


Text = Callable[[], str | None]
"""Returns the text of a whole file with a fault in it; None if that text does not parse.

It is a function because parsing takes time proportional to the file, and not every mutant is used.
"""


class TestDialect(Protocol):
    """The functions that a language's module provides to judge tests with the language's test runner."""

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
        """Plan a run of must-fail copies in the place of the original test files; None if nothing can be copied.

        Args:
            planned: the plan of the original run.
            passed: the tests that passed in the original run.
            mended: test files of the base with tests that fail without the change and pass with it.
            text_of: returns the text of a file with the change.
        """
        ...

    def list_required(self, file: SuiteFile, text_of: Callable[[str], str | None], /) -> frozenset[str]:
        """List the tests that a file must report; `text_of` returns the text of a file with the change."""
        ...

    def mutate(self, path: str, text: str, lines: Collection[int], /) -> Iterator[tuple[str, Fault, Text]]:
        """List the faults that can be put into functions of a file at these lines.

        Args:
            path: the path of a source file of this language.
            text: the text of the file; if it does not parse, there are no faults.
            lines: the line numbers, counted from 1.

        Returns:
            For each fault, the function's name, the fault, and a function that returns the whole file with the fault.
        """
        ...
