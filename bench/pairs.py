"""Defines a task with right and wrong answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from nightshift.core.tasks.task import Files, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task with right and wrong answers.

    Attributes:
        path: the file that the tests judge.
        right: the text of this file that must be accepted.
        wrong: complete texts of this file, each of which must be refused.
        also: further files of the answer.
        beside: further files that come with the tests.
        base: the files of the commit that the task starts from.
        packages: distributions that the answer may import.
        words: the task's description, or None. The right answer must do what the description says.
    """

    name: str
    path: str
    test_path: str
    tests: str
    right: str
    wrong: tuple[str, ...]
    also: Files = field(default_factory=dict)
    beside: Files = field(default_factory=dict)
    base: Files = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    words: str | None = None

    @property
    def module(self) -> str:
        """Name of the answer's module."""
        return PurePosixPath(self.path).stem

    @property
    def given(self) -> Files:
        """The test file and the further files that come with it."""
        return {self.test_path: self.tests, **self.beside}

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return Language.PYTHON if self.path.endswith(".py") else Language.JAVASCRIPT

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answer and then the wrong ones."""
        return self.right, *self.wrong

    def change(self, text: str) -> Files:
        """Return the files of an answer whose main file has this text."""
        return {self.path: text, **self.also}
