"""Prepares Go test files for a run: the unchanged file, and a must-fail copy in which the tests fail."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from nightshift.core.code import golang
from nightshift.core.tasks.task import Files
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import edit
from nightshift.verdict.languages.go import constraints, copies
from nightshift.verdict.languages.go.outline import Outline, outline
from nightshift.verdict.languages.plan import Role, SuiteFile

if TYPE_CHECKING:
    from tree_sitter import Node


def suite_paths(tests: Files) -> list[str]:
    """Return the paths of files that contain tests or do not parse, except files that are not built on this machine."""
    mine = (path for path, text in tests.items() if golang.is_test(path) and constraints.is_built(path, text))
    roots = {path: golang.parse(tests[path]) for path in mine}
    return [path for path, root in roots.items() if root.has_error or _holds_tests(root)]


def _holds_tests(root: Node) -> bool:
    file_outline = outline(root)
    return bool(file_outline.names or file_outline.examples)


def prepare(role: Role, path: str, text: str) -> SuiteFile:
    """Prepare one test file with its must-fail copy.

    A file that does not parse gets no copy, because its package does not build.
    """
    file = as_is(role, path, text)
    root = golang.parse(text)
    names = outline(root).names
    if root.has_error or not names:
        return file
    if unnamed := copies.name_tests(root, f"t{secrets.token_hex(3)}"):
        root = golang.parse(edit(encode(text), unnamed))
    turned, forced = copies.edits(root)
    if names <= set(forced):
        return file
    copy = edit(encode(golang.node_text(root)), turned)
    return SuiteFile(
        role=role, path=path, text=text, outline=file.outline, names=file.names,
        must_fail_text=copy, must_fail_names=names - set(forced),
    )  # fmt: skip


def as_is(role: Role, path: str, text: str) -> SuiteFile:
    """Return a test file with the list of its tests, but without a must-fail copy."""
    root = golang.parse(text)
    is_built = not root.has_error and constraints.is_built(path, text)
    file_outline = outline(root) if is_built else Outline(names=frozenset())
    return SuiteFile(
        role=role, path=path, text=text, outline=file_outline,
        names=frozenset((*file_outline.names, *file_outline.examples)),
    )  # fmt: skip


def checks_something(text: str) -> bool:
    """Check whether a test file contains anything that can fail a test; true if it does not parse."""
    root = golang.parse(text)
    return root.has_error or copies.checks_something(root)
