"""Test assets: the files that decide what tests check. Lists the test assets that a change touches.

A test asset is a file that tests read or import on the base. A file with a typical name of a test file counts as well,
even if no test was seen to use it. Files that only the product reads are not test assets.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.paths import folders_of, is_named, is_test_path
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Control, Finding, FindingKind
from nightshift.core.text.encoding import encode

_FOLDERS = frozenset({
    "tests", "test", "__tests__", "testing", "spec", "fixtures", "testdata", "golden", "__snapshots__", "cassettes",
})  # fmt: skip
_IN_PACKAGES = frozenset({"testing", "spec", "fixtures"})
"""Names of folders that may also be packages of the product, for example helpers for its users' tests."""
_ENDINGS = (".snap", ".golden", ".ambr")
_METADATA = frozenset({"pyproject.toml", "setup.cfg"})
_PAGE = re.compile(
    r"(^|/)(readme|changelog|changes|history|news|contributing|authors)(\.(md|rst|txt))?$|(^|/)docs?/.*\.(md|rst)$",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(```|~~~)")
_STEERING = re.compile(
    r"(^|/)(conftest\.py|\.?pytest\.(ini|toml)|tox\.ini|noxfile\.py|sitecustomize\.py|usercustomize\.py|\.env"
    r"|(jest|babel|vitest|vite)\.(config|workspace)\.[cm]?[jt]s|\.mocharc.*|\.babelrc.*|node\.config\.json)$|\.pth$"
)
_ASSERTS = re.compile(
    r"^\s*assert\b|\bself\.assert\w+\(|\braise AssertionError\b|\bt\.(Error|Fatal)f?\(|\bexpect\(", re.MULTILINE
)
_USES_TESTS = re.compile(r"^\s*(import|from) (pytest|_pytest|unittest|hypothesis)\b", re.MULTILINE)
_TESTS = re.compile(r"^\s*(?:async )?def test|^class \w*Test", re.MULTILINE)
SUBJECT = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The files that tests use, and the text of the task.

    Attributes:
        read: the files that tests opened and the product did not, each with the test file that opened it.
        modules: the modules of the tree that were imported.
        command: the arguments of the owner's test command; files among the arguments count as test assets.
        asked: the task's text; a file that the text names may change without a question.
        suites: the changed files that have the name of a test file by the repository's settings.
        collected: the tests that ran on the base, without their parameters.
        present: the files of the base.
        steering: the files of the change that differ in settings of the test runner, each with the reason.
    """

    read: Mapping[str, str]
    modules: Collection[str]
    command: tuple[str, ...] = ()
    asked: str = ""
    suites: Collection[str] = ()
    collected: Collection[str] = ()
    present: Collection[str] = ()
    steering: Mapping[str, str] = field(default_factory=dict)


def find_touched(change: Change, texts: Change, around: Surroundings) -> Iterator[Finding]:
    """List the test assets that a change edits or removes, each as a question unless the task names the file.

    New files with settings of the test runner are listed too. About such settings the owner is always asked.

    Args:
        change: path to new text, None for a removed file.
        texts: path to text on the base; None for a new file.
        around: the files that tests use, and the task's text.
    """
    for path, text in sorted(change.items()):
        before, steers = texts.get(path), around.steering.get(path, "")
        if before == text or not (steers or before is not None):
            continue
        why = steers or find_reason(path, before or "", text, around)
        has_tests = not why and _takes_tests(change, before or "", _list_names(path, around.collected))
        why = "holds tests that change" if has_tests else why
        if not why:
            continue
        says = f"{path} {why}: may it {'be added' if before is None else 'change' if text is not None else 'go'}?"
        named = not (has_tests or steers) and is_named(path, around.asked)
        yield Finding(
            kind=FindingKind.ASSET, where=path, says=f"{path} {why}, and the task names it" if named else says,
            control=Control.BASE, subject="" if named else subject_of(path, text),
        )  # fmt: skip


def find_reason(path: str, before: str, after: str | None, around: Surroundings) -> str:
    """Return the reason why a file is a test asset; empty if it belongs to the product."""
    if path in around.read and not _only_describes(path, before, after):
        return f"is read by {around.read[path]}"
    if _STEERING.search(path) or path in around.command:
        return "steers how tests are run"
    if is_test_path(path) or path.endswith(_ENDINGS) or (path in around.suites and _TESTS.search(before)):
        return "is one of the tests"
    if any(_holds_tests(folder, path, before, around.present) for folder in folders_of(path)):
        return "lies with the tests"
    if path in around.modules and _ASSERTS.search(before) and _is_helper(path):
        return "asserts for tests"
    return ""


def _list_names(path: str, tests: Collection[str]) -> frozenset[str]:
    """List the names in the ids of a file's tests."""
    return frozenset(part for test in tests if test.startswith(f"{path}::") for part in test.split("::")[1:])


def _takes_tests(change: Change, before: str, names: Collection[str]) -> bool:
    """Check whether a change removes or alters a test, or an example in a docstring, that it moves to no other file.

    Args:
        change: the change.
        before: a module's text before the change.
        names: the names of its tests on the base. A doctest has the dotted name of the object that it explains.
    """
    now = sum((_count_tests(text or "", names) for text in change.values()), Counter[str]())
    return bool(names) and bool(_count_tests(before, names) - now)


def _count_tests(text: str, names: Collection[str]) -> Counter[str]:
    """Count the texts of the test functions and classes, and of the examples that ran from docstrings."""
    tests, explained = Counter[str](), {"", *(name.rpartition(".")[2] for name in names if "." in name)}
    for name, node, examples in list_explained(text):
        tests.update([ast.unparse(node)] if name in names else [])
        shown = examples if name in explained else []
        tests.update(f"{name} >>> {example.source}{example.want}" for example in shown)
    return tests


def list_explained(text: str) -> Iterator[tuple[str, ast.AST, list[doctest.Example]]]:
    """List a module and its classes and functions: the name, the node, and the examples in the docstring."""
    tree = parse_quietly(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            examples = list[doctest.Example]()
            with contextlib.suppress(ValueError):  # a docstring that doctest cannot read has no examples
                examples = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
            yield getattr(node, "name", ""), node, examples


def _only_describes(path: str, before: str, after: str | None) -> bool:
    """Check whether a change of a file is about metadata, or about the words of a page and none of its examples."""
    if after is None or not (path.rpartition("/")[2] in _METADATA or _PAGE.search(path)):
        return False
    return not _PAGE.search(path) or _list_examples(before) == _list_examples(after)


def _list_examples(text: str) -> list[str]:
    """List the lines of a page's examples: fenced or indented blocks, and sessions."""
    examples, is_fenced = list[str](), False
    for line in text.splitlines():
        is_fence = bool(_FENCE.match(line))
        if is_fence or is_fenced or line.startswith(("    ", "\t")) or line.lstrip().startswith(">>>"):
            examples.append(line)
        is_fenced ^= is_fence
    return examples


def _holds_tests(folder: str, path: str, text: str, present: Collection[str]) -> bool:
    """Check whether a folder above a file is for tests.

    A module of a package of the product is none of the tests if it neither asserts nor imports a test library.
    """
    above, _, name = folder.rpartition("/")
    if name not in _FOLDERS:
        return False
    is_package = path.endswith(".py") and all(f"{each}/__init__.py" in present for each in (above, folder))
    return not (name in _IN_PACKAGES and is_package) or bool(_ASSERTS.search(text) or _USES_TESTS.search(text))


def _is_helper(path: str) -> bool:
    """Check whether a module has a typical name of a test helper."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return bool(re.search(r"(^|_)(check|assert|expect|test|helper|support|util)", stem))


def subject_of(path: str, text: str | None) -> str:
    """Return the subject of a question about a file.

    The subject contains a digest of the text, so the owner's approval covers only this version of the file.
    """
    digest = hashlib.sha256(encode(text or "")).hexdigest()[:16]
    return f"{SUBJECT}:{path}:{'gone-' if text is None else ''}{digest}"


def find_denied(change: Change, denied: Collection[str]) -> dict[str, str]:
    """Return the changed files that the owner refused to have changed, each with the reason."""
    return {
        path: "is a test asset that the owner does not want changed"
        for path in change
        if any(subject.startswith(f"{SUBJECT}:{path}:") for subject in denied)
    }
