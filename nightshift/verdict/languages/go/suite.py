"""Prepares files of Go tests for a run: under random names, each with a copy in which every test must fail.

A file keeps its name where something may rely on it, and a test where its text asks for its own name or speaks of it.
Where a test is recorded is said by marks, which the trusted parent follows: nothing of that stands in the file.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.code import golang
from nightshift.core.tasks.task import Files
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edited
from nightshift.verdict.languages.go import constraints, copies
from nightshift.verdict.languages.go.outline import Outline, cases, outline
from nightshift.verdict.languages.plan import Role, SuiteFile

if TYPE_CHECKING:
    from tree_sitter import Node

_OWN_PATH = re.compile(r"\bruntime\.Caller|\bos\.Args\b|_test\.go\b")
_OWN_NAME = re.compile(r"\.Name\(\)")
_SKIPS = frozenset({"Skip", "Skipf", "SkipNow"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What the trusted parent is told of a file: its package, and where each test's body begins, in bytes.

    `fresh` tells that nobody knows the file by its name in the run, so that it goes when it was built, `broken` that it
    does not parse.
    """

    package: str
    tests: tuple[tuple[int, str, str], ...]
    examples: tuple[str, ...]
    fresh: bool
    broken: bool = False

    def told(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "package": self.package,
            "tests": self.tests,
            "examples": self.examples,
            "fresh": self.fresh,
            "broken": self.broken,
        }


def marks(path: str, text: str, *, fresh: bool) -> Mark:
    """Where the tests of a file as it is staged are recorded: place, name, and the name of the running test."""
    root = golang.parse(text)
    if not constraints.is_built(path, text):
        return Mark(package="", tests=(), examples=(), fresh=fresh)
    bodies = ((case, case.function.child_by_field_name("body")) for case in cases(root))
    tests = tuple(
        (body.start_byte + 1, case.name, case.handle) for case, body in bodies if body and case.handle.strip("_")
    )
    return Mark(
        package=golang.package(root), tests=tests, examples=outline(root).examples, fresh=fresh, broken=root.has_error
    )


def suite_paths(tests: Files) -> list[str]:
    """Those of the files that hold tests, or that do not parse; files for other machines are not built here."""
    mine = (path for path, text in tests.items() if golang.is_test(path) and constraints.is_built(path, text))
    roots = {path: golang.parse(tests[path]) for path in mine}
    return [path for path, root in roots.items() if root.has_error or _holds_tests(root)]


def _holds_tests(root: Node) -> bool:
    found = outline(root)
    return bool(found.names or found.examples)


def canary(folder: str, package: str) -> tuple[str, str, frozenset[str]]:
    """Path, text and test name of a file whose only test must fail."""
    name = _random_test("Test")
    low, high = secrets.randbelow(1000), 1000 + secrets.randbelow(9000)
    text = (
        f'package {package}\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n'
        f'\tif got := {low}; got != {high} {{\n\t\tt.Errorf("got %d", got)\n\t}}\n}}\n'
    )
    return f"{folder}{secrets.token_hex(6)}_test.go", text, frozenset({name})


def prepare(role: Role, path: str, text: str, beside: Files) -> SuiteFile:
    """Prepare one test file; one that does not parse is run as it is, and its package does not build.

    Args:
        role: whose tests it holds.
        path: where its owner has it.
        text: what it says.
        beside: all tests that run with it.
    """
    root = golang.parse(text)
    if root.has_error:
        return SuiteFile(role=role, path=path, staged=path, text=text, original=text)
    if unnamed := copies.named(root, f"t{secrets.token_hex(3)}"):
        root = golang.parse(edited(encode(text), unnamed))
    read = golang.node_text(root)
    folder, _, name = path.rpartition("/")
    folder = f"{folder}/" if folder else ""
    keeps_name = bool(_OWN_PATH.search(text)) or any(name in other for at, other in beside.items() if at != path)
    names = {_new_name(case.name, text, beside, path): case.name for case in cases(root)}
    renaming = _renaming(root, {own: new for new, own in names.items()})
    turned, forced = copies.edits(root)
    ending = constraints.ending(name)
    copied = not keeps_name and bool(names)
    return SuiteFile(
        role=role,
        path=path,
        staged=path if keeps_name else f"{folder}{secrets.token_hex(6)}{ending}",
        text=edited(encode(read), renaming),
        original=text,
        outline=Outline(names=frozenset(names.values()), examples=outline(root).examples),
        names=names,
        must_fail_path=f"{folder}{secrets.token_hex(6)}{ending}" if copied else "",
        must_fail_text=edited(encode(read), [*renaming, *turned]) if copied else "",
        must_fail_names=frozenset(names) if copied else frozenset(),
        copied=copied,
        forced=frozenset(forced) if copied else frozenset(),
    )


def checks_something(text: str) -> bool:
    """Tell whether a file of tests holds something that can fail."""
    root = golang.parse(text)
    return root.has_error or copies.checks_something(root)


def as_is(role: Role, path: str, text: str) -> SuiteFile:
    """A file that runs as it is, with its tests."""
    root = golang.parse(text)
    if root.has_error:
        return SuiteFile(role=role, path=path, staged=path, text=text, original=text)
    found = outline(root) if constraints.is_built(path, text) else Outline(names=frozenset())
    return SuiteFile(
        role=role, path=path, staged=path, text=text, original=text, outline=found,
        names={name: name for name in found.names},
    )  # fmt: skip


def _new_name(name: str, text: str, beside: Mapping[str, str], path: str) -> str:
    """The name of a test in this run: its own where some text speaks of it besides its own declaration."""
    mentioned = len(re.findall(rf"\b{name}\b", text)) > 1 or any(
        re.search(rf"\b{name}\b", other) for at, other in beside.items() if at != path
    )
    if mentioned or _OWN_NAME.search(text) or not name.isidentifier():
        return name
    return _random_test(name[:4])


def _random_test(kind: str) -> str:
    return f"{kind}{secrets.token_hex(5).upper()}"


def _renaming(root: Node, new: Mapping[str, str]) -> list[Edit]:
    found = ((case, case.function.child_by_field_name("name")) for case in cases(root))
    return [Edit(node.start_byte, node.end_byte, new[case.name]) for case, node in found if node is not None]
