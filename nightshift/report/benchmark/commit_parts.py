"""Classifies the files of a commit: sources, tests, files that tests need, and the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nightshift.core.code.dependencies import is_suite
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree, read_text
from nightshift.core.tasks.task import Change, Files, Language
from nightshift.verdict.languages import language_of

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "testdata", "__tests__", "__snapshots__", "fixtures", "spec"})
_LOCK = re.compile(
    r"(^|/)([^/]+\.lock|[^/]*-lock\.(json|ya?ml)|pylock\.toml|go\.sum|npm-shrinkwrap\.json|requirements[^/]*\.txt)$"
)
_CI = re.compile(
    r"^(\.github|\.gitlab|\.circleci|\.buildkite|\.woodpecker|ci)/"
    r"|(^|/)(\.gitlab-ci\.yml|\.travis\.yml|\.appveyor\.yml|appveyor\.yml|azure-pipelines[^/]*\.yml|Jenkinsfile"
    r"|\.pre-commit-config\.yaml)$"
)


class Part(StrEnum):
    """The role of a file in a commit."""

    SOURCE = "source"
    TEST = "test"
    SUPPORT = "support"
    """Files that tests need, such as helpers and data."""
    LOCK = "lock"
    CI = "ci"
    OTHER = "other"


def part_of(path: str) -> Part:
    """Return the role of a file, by its path."""
    if _CI.search(path):
        return Part.CI
    if _LOCK.search(path):
        return Part.LOCK
    if is_test_path(path):
        return Part.TEST
    if not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1]):
        return Part.SUPPORT
    return Part.SOURCE if language_of(path) else Part.OTHER


class NotText(ValueError):
    """A commit changes a binary file or a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitParts:
    """A commit as a task: the requested change, and the tests that judge it.

    Attributes:
        change: the commit's change without tests: path to new text, or None for a removed file.
        tests: the tests that the commit adds or changes: path to text.
        support: the files that these tests need and that the commit adds or changes: path to text.
        gone: test files that the commit removes.
        sources: the paths of the source files in `change`.
        language: the language of most of these source files.
    """

    change: Change
    tests: Files
    support: Files
    gone: tuple[str, ...]
    sources: tuple[str, ...]
    language: Language


def read_parts(before: Tree, after: Tree) -> CommitParts:
    """Return the parts of the change between two trees.

    Raises:
        NotText: a changed file is binary or a link.
    """
    differing = _differing(before, after)
    texts = {path: _text(after, path) for path in differing}
    parts = {path: part_of(path) for path in differing}
    change = {path: text for path, text in texts.items() if parts[path] not in {Part.TEST, Part.SUPPORT}}
    sources = tuple(path for path in change if parts[path] is Part.SOURCE)
    languages = [language for path in sources if (language := language_of(path))]
    return CommitParts(
        change=change,
        tests=_of(texts, parts, Part.TEST),
        support=_of(texts, parts, Part.SUPPORT),
        gone=tuple(path for path, text in texts.items() if text is None and is_suite(path)),
        sources=sources,
        language=max(languages, key=languages.count, default=Language.PYTHON),
    )


def _differing(before: Tree, after: Tree) -> list[str]:
    if before.unwritable() != after.unwritable():
        raise NotText("it adds or removes a link or a submodule")
    old, new = before.entries(), after.entries()
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def _text(tree: Tree, path: str) -> str | None:
    if path not in tree.entries():
        return None
    if b"\0" in tree.read(path):
        raise NotText(f"{path} is no text")
    return read_text(tree, path)


def _of(texts: Mapping[str, str | None], parts: Mapping[str, Part], wanted: Part) -> dict[str, str]:
    return {path: text for path, text in texts.items() if parts[path] is wanted and text is not None}
