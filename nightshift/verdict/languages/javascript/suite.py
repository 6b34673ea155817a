"""Prepares JavaScript test files for a run: each under its own name, with a must-fail copy.

A file without test calls is one test with the file's name. An example is a script that exits with an error if a check
fails.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import TYPED, Framework, is_source, node_text, parse, walk
from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.task import Files
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.copies import must_fail_copy
from nightshift.verdict.languages.javascript.names import Names
from nightshift.verdict.languages.javascript.outline import Outline, outline, script
from nightshift.verdict.languages.plan import Role, SuiteFile

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_MODULE = "node:test"
_OF_TYPES = re.compile(
    r"\btypeof\b|\binstanceof\b|not implemented|\.(?:toBeDefined|toBeInstanceOf|toBeTypeOf|toHaveProperty)\("
    r"|\bexpect\.any",
    re.IGNORECASE,
)
"""Matches checks that only test types or existence, and checks that expect a stub."""


def is_suite(path: str) -> bool:
    """Check whether a JavaScript or TypeScript file has the name of a test file."""
    return is_source(path) and is_test_path(path)


def suite_paths(tests: Files, framework: Framework = Framework.NODE) -> list[str]:
    """Return the paths of files that contain tests, judged by name; all candidates if no name indicates tests.

    The candidates are the sources that use the test framework, or all sources if none does.
    """
    sources = [path for path in tests if is_source(path) and not path.endswith((".d.ts", ".d.mts", ".d.cts"))]
    using = [path for path in sources if (_TEST_MODULE if framework is Framework.NODE else "expect") in tests[path]]
    candidates = using or sources
    return [path for path in candidates if is_suite(path)] or candidates


def prepare(role: Role, path: str, text: str, framework: Framework = Framework.NODE) -> SuiteFile:
    """Prepare one test file; a file that does not parse, or is nested too deeply, gets no copy.

    Args:
        role: the origin of the file.
        path: its path in the repository.
        text: its text.
        framework: the framework that runs the tests.
    """
    root = parse(path, text)
    if not root.has_error:
        with contextlib.suppress(RecursionError):
            return _prepare(role, path, text, root, framework)
    return SuiteFile(role=role, path=path, text=text)


def _prepare(role: Role, path: str, text: str, root: Node, framework: Framework) -> SuiteFile:
    local_names = names.read(root, has_globals=framework is not Framework.NODE)
    file_outline = outline(root, local_names)
    if (
        framework is Framework.NODE
        and not (local_names.tests or local_names.runners)
        and any(_checks(root, local_names))
    ):
        file_outline = script(path, root)
    copy, copied = must_fail_copy(text, root, file_outline, local_names, is_typed=path.endswith(TYPED))
    return SuiteFile(
        role=role,
        path=path,
        text=text,
        outline=file_outline,
        names=frozenset(case.name for case in file_outline.cases if case.name),
        must_fail_text=copy if copied else "",
        must_fail_names=frozenset(case.name for case in copied if case.name),
        mirrored=bool(copied) and len(copied) == len(file_outline.cases),
    )


def escape(name: str) -> str:
    """Return a test's name as the run reports it.

    `[` is replaced, because in an id it would begin the parameters, as in pytest.
    """
    return name.replace("[", "\u27e6")


def checks_something(text: str) -> bool:
    """Check whether a test file has an assertion that can fail and that checks more than a type.

    The result is true if the file does not parse, because the run itself reports that error.
    """
    root = parse("a.tsx" if re.search(r"\)\s*:\s*\w|\binterface\b|\bas const\b", text) else "a.mjs", text)
    if root.has_error:
        return True  # The run itself reports the error.
    return any(
        not _OF_TYPES.search(check) for check in _checks(root, names.read(root, has_globals=_TEST_MODULE not in text))
    )


def _checks(root: Node, local_names: Names) -> Iterator[str]:
    """List the source texts of the checks in a file."""
    calls = (node for node in walk(root) if node.type == "call_expression")
    for call in calls:
        if local_names.expectation(call) or local_names.check(call.child_by_field_name("function")):
            yield node_text(call)


def scripts(files: Iterable[SuiteFile]) -> tuple[str, ...]:
    """Return the paths of the files that are themselves one test."""
    return tuple(file.path for file in files if isinstance(file.outline, Outline) and file.outline.is_script)


def list_marked(file: SuiteFile) -> tuple[str, ...]:
    """Return the ids of a file's tests that a constant mark skips."""
    cases = file.outline.cases if isinstance(file.outline, Outline) else ()
    return tuple(f"{file.path}::{escape(case.name)}" for case in cases if case.name and case.is_marked)
