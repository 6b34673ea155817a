"""Prepares files of tests for a run: under random names, each with a copy in which every test must fail.

A file keeps its name where something may rely on it: another test mentions it, it asks for its own path for more than
the folder, or snapshots lie beside it. Such a file has no copy but a canary beside it. Titles stay as they are.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import TYPED, is_source, parse, walk
from nightshift.core.code.javascript_tests import Framework
from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.task import Files
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.copies import with_copy
from nightshift.verdict.languages.javascript.outline import Outline, outline
from nightshift.verdict.languages.javascript.split import Place, is_eligible, runs_typed
from nightshift.verdict.languages.plan import Role, SuiteFile

if TYPE_CHECKING:
    from tree_sitter import Node

# Ways to ask for one's own path that are about the folder only.
_FOLDER_ONLY = re.compile(
    r"new URL\(\s*(['\"`])(?:(?!\1).)*\1\s*,\s*import\.meta\.url\s*\)"
    r"|createRequire\(\s*import\.meta\.url\s*\)"
    r"|dirname\(\s*(?:fileURLToPath\(\s*import\.meta\.url\s*\)|__filename|import\.meta\.filename)\s*\)"
)
_OWN_PATH = re.compile(r"__filename|import\.meta\.(?:filename|url)|require\.main|process\.argv|[sS]napshot")
_TEST_MODULE = "node:test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What decides how a file may be changed: the other tests, all paths of the tree, and the name of the helper.

    `text_of` reads a file of the tree that is no test, `versions` are the major and minor version of Node.js,
    `framework` runs the tests.
    """

    tests: Files
    paths: Collection[str]
    helper: str
    text_of: Callable[[str], str | None] = lambda _path: None
    versions: tuple[int, int] = (20, 14)
    framework: Framework = Framework.NODE

    @property
    def place(self) -> Place:
        """The same for the run with the tested code in another process."""
        return Place(present=self.paths, tests=self.tests.keys(), text_of=self.text_of)


def is_suite(path: str) -> bool:
    """Tell whether node:test takes a file for tests."""
    return is_source(path) and is_test_path(path)


def suite_paths(tests: Files, framework: Framework = Framework.NODE) -> list[str]:
    """Those of the files that hold tests: by their names, or all sources when no name says so."""
    sources = [path for path in tests if is_source(path) and not path.endswith((".d.ts", ".d.mts", ".d.cts"))]
    using = [path for path in sources if (_TEST_MODULE if framework is Framework.NODE else "expect") in tests[path]]
    candidates = using or sources
    return [path for path in candidates if is_suite(path)] or candidates


def canary(folder: str, framework: Framework = Framework.NODE) -> tuple[str, str, frozenset[str]]:
    """Path, text and test name of a file whose only test must fail."""
    name = f"case {secrets.token_hex(4)}"
    low, high = secrets.randbelow(1000), 1000 + secrets.randbelow(9000)
    if framework is not Framework.NODE:
        head = "import { expect, test } from 'vitest';\n\n" if framework is Framework.VITEST else ""
        text = f"{head}test('{name}', () => {{\n  expect({low}).toBe({high});\n}});\n"
        return _random_file(folder, ".test.js"), text, frozenset({name})
    text = (
        "import test from 'node:test';\nimport assert from 'node:assert/strict';\n\n"
        f"test('{name}', () => {{\n  assert.equal({low}, {high});\n}});\n"
    )
    return _random_file(folder, ".test.mjs"), text, frozenset({name})


def prepare(role: Role, path: str, text: str, around: Around) -> SuiteFile:
    """Prepare one test file; one that does not parse, or is nested beyond reason, is run as it is."""
    root = parse(path, text)
    if not root.has_error:
        with contextlib.suppress(RecursionError):
            return _prepared(role, path, text, root, around)
    return SuiteFile(role=role, path=path, staged=path, text=text, original=text)


def _prepared(role: Role, path: str, text: str, root: Node, around: Around) -> SuiteFile:
    framework = around.framework
    known = names.read(root, has_globals=framework is not Framework.NODE)
    found = _opened(outline(root, known, numbers_suites=framework is not Framework.JEST), path, around)
    folder, ending = path[: path.rfind("/") + 1], _ending(path)
    listed = {escaped(case.name): case.name for case in found.cases if case.name}
    keeps_name = _keeps_name(path, text, around)
    staged_text, (must_fail_path, must_fail_text, must_fail_names) = text, canary(folder)
    if not keeps_name:
        must_fail_path, must_fail_names = _random_file(folder, ending), frozenset(listed)
        staged_text, must_fail_text = with_copy(
            text, root, found, known, around.helper,
            declares=framework is Framework.JEST and path.endswith(TYPED),
        )  # fmt: skip
    return SuiteFile(
        role=role,
        path=path,
        staged=path if keeps_name else _random_file(folder, ending),
        text=staged_text,
        original=text,
        outline=found,
        names=listed,
        must_fail_path=must_fail_path,
        must_fail_text=must_fail_text,
        must_fail_names=must_fail_names,
        copied=not keeps_name,
        mirrored=not keeps_name,
        apart=framework is Framework.NODE
        and runs_typed(path, around.versions)
        and is_eligible(path, text, root, known, around.place),
    )


def escaped(name: str) -> str:
    """A test's name as the run reports it: a bracket would begin parameters, as pytest has them."""
    return name.replace("[", "\u27e6")


def checks_something(text: str) -> bool:
    """Tell whether a file of tests holds an assertion that can fail."""
    root = parse("a.tsx" if re.search(r"\)\s*:\s*\w|\binterface\b|\bas const\b", text) else "a.mjs", text)
    if root.has_error:
        return True  # the run itself will say what is wrong with it
    known = names.read(root, has_globals=_TEST_MODULE not in text)
    calls = (node for node in walk(root) if node.type == "call_expression")
    return any(known.expectation(call) or known.check(call.child_by_field_name("function")) for call in calls)


def _opened(found: Outline, path: str, around: Around) -> Outline:
    """The outline, open where another file of the tests may add to it."""
    helpers = (other for other in around.tests if other != path and not is_suite(other))
    if not any(_TEST_MODULE in around.tests[other] for other in helpers):
        return found
    return Outline(cases=found.cases, suites=found.suites, open_scopes=found.open_scopes | {""})


def _keeps_name(path: str, text: str, around: Around) -> bool:
    name = PurePosixPath(path).name
    if _OWN_PATH.search(_FOLDER_ONLY.sub("", text)) or any(name in other for other in around.tests.values()):
        return True
    return any(name in part for other in around.paths if other != path for part in other.split("/"))


def _random_file(folder: str, ending: str) -> str:
    return f"{folder}{secrets.token_hex(6)}{ending}"


def _ending(path: str) -> str:
    """What a random name ends in, so that what goes by the names of tests goes by this one as well."""
    found = re.search(r"[._-](?:test|spec)\.\w+$", path)
    return f".{found[0][1:]}" if found else f".test{PurePosixPath(path).suffix}"
