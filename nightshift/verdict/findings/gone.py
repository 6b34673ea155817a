"""Compares a run with the change to a run without it.

Reports tests that are missing, checks that never run, and functions outside of the tree that tests replaced. A
parametrized test may have other ids in each run (a date, an address, the order of a set), so only its number of cases
is compared.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import TypeGuard

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, Result
from nightshift.core.text.faults import name_first
from nightshift.verdict.findings.assets import list_explained
from nightshift.verdict.languages.python.outline import last_name
from nightshift.verdict.run import EXPECTED, NativeRun, bare, file_of

_ASSERTING = frozenset({"raises", "warns", "deprecated_call"})
_END = re.compile(r"::|\.")
_TEST = re.compile(r"\A(?i:test)|TestCase\Z")

Read = Callable[[str], str | None]


def compare(native: NativeRun, base: NativeRun, settled: Collection[str], before: Read, now: Read) -> Iterator[Finding]:
    """Report tests and checks that ran without the change and no longer run with it.

    Args:
        native: the run with the change.
        base: the run without the change.
        settled: test files that may differ, because the task or the owner says so.
        before: reads a file without the change.
        now: reads a file with the change.
    """
    yield from _find_gone(native, base, settled, before, now)
    yield from _find_lost(native, base, settled, before, now)
    yield from _find_not_here(native, base)


def _find_gone(
    native: NativeRun, base: NativeRun, settled: Collection[str], before: Read, now: Read
) -> Iterator[Finding]:
    """Report tests that passed and no longer run, unless the same test passes in another changed file.

    The task may remove the value of a case; so if other cases of the test still pass, the owner is asked.
    """
    then, cases_now = Counter(map(bare, base.passed)), Counter(map(bare, native.passed))
    ends = defaultdict[str, list[Result]](list)
    messages = dict[str, str]()
    for case in native.tests or ():
        ends[bare(case.id)].append(case.result)
        if case.result is Result.SKIPPED:
            messages[bare(case.id)] = case.message
            messages.setdefault(case.id, case.message)
    new_tests = [test for test in cases_now if test not in then and now(file_of(test)) != before(file_of(test))]
    for test, count in then.items():
        if file_of(test) in settled or cases_now[test] >= count or native.has_failed(test):
            continue
        if any(result in {Result.FAILED, Result.ERROR, Result.NOT_REACHED} for result in ends[test]):
            continue
        if any(_is_moved(test, other, before, now) for other in new_tests):
            continue
        skipped = Result.SKIPPED in ends[test] or native.ends.get(file_of(test)) is Result.SKIPPED
        why = messages.get(test) or messages.get(file_of(test), "")
        how = f"skipped, {why!r}" if skipped else "the test is missing"
        subject = ""
        if not skipped and cases_now[test]:
            subject = f"cases:{test}:{count}-{cases_now[test]}"
            lost = sorted(case for case in base.passed - native.ends.keys() if bare(case) == test)
            how = f"{count} cases passed before the change, {cases_now[test]} pass now; may {name_first(lost, 3)} go?"
        yield Finding(
            kind=FindingKind.GONE, where=test, says=f"{test} no longer runs: {how}", control=Control.BASE,
            subject=subject,
        )  # fmt: skip


def _is_moved(test: str, other: str, before: Read, now: Read) -> bool:
    """Check whether a test, or the examples of a docstring, are the same in another file after the change."""
    name = _END.split(test)[-1]
    if _END.split(other)[-1] != name or file_of(other) == file_of(test):
        return False
    old, new = _read_test(before(file_of(test)) or "", name), _read_test(now(file_of(other)) or "", name)
    return bool(old) and old == new


def _read_test(text: str, name: str) -> dict[str, str]:
    """Map a test's name to its text, and the examples of a docstring to their results; equal ones are joined."""
    parts = defaultdict[str, str](str)
    for name_of, node, examples in list_explained(text):
        if name_of == name and _TEST.search(name):
            parts[name] += ast.unparse(node)
        for example in examples if name_of == name else ():
            parts[f">>> {example.source}"] += example.want
    return parts


def _find_lost(
    native: NativeRun, base: NativeRun, settled: Collection[str], before: Read, now: Read
) -> Iterator[Finding]:
    for test in sorted(base.passed & native.passed & base.lines.keys() & native.lines.keys()):
        for location in sorted(set(base.lines[test]) - set(native.lines[test])):
            path, _, line = location.rpartition(":")
            text = now(path)
            if path in settled or text is None or text != before(path) or int(line) not in find_checks(text):
                continue
            says = f"{test} passes without reaching line {line} of {path}"
            yield Finding(kind=FindingKind.LOST, where=test, says=says, control=Control.BASE)
            break


def _find_not_here(native: NativeRun, base: NativeRun) -> Iterator[Finding]:
    """Report the tests that are skipped both with and without the change.

    The result is one finding for all these tests, with the reason of the first.
    """
    idle = [case for case in native.tests or () if case.result is Result.SKIPPED and case.message != EXPECTED]
    same = [case for case in idle if base.ends.get(case.id) is Result.SKIPPED]
    if same:
        many = f"{len(same)} tests" if len(same) > 1 else "1 test"
        says = f"{many} cannot run here: {same[0].message or 'skipped'}"
        yield Finding(kind=FindingKind.NOT_HERE, where=same[0].id, says=says, control=Control.BASE)


def find_changed(native: NativeRun, base: NativeRun | None) -> Iterator[Finding]:
    """Report tampering: functions outside of the tree that were replaced, and reports that other code wrote to.

    A function that the base replaces as well is not reported.
    """
    old_names = set(base.changed) if base else set()
    if new := [name for name in native.changed if name not in old_names]:
        says, control = f"{name_first(new, 3)} was replaced", Control.BASE if base else Control.NONE
        yield Finding(kind=FindingKind.SEAL, where=new[0], says=says, control=control)
    if native.altered or native.is_forged:
        says = "the report was written to by other code"
        if native.altered:
            says = f"{name_first(native.altered, 3)} was changed while the tests ran"
        yield Finding(kind=FindingKind.FORGED, where="", says=says, control=Control.BASE if base else Control.NONE)


def find_unrun(native: NativeRun, given: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    """Report tests of the task that did not run, except tests that a constant skip mark excludes.

    Args:
        native: the run with the change.
        given: the test files of the task, each with the names of the tests that it must have.
    """
    marked, ended_tests = set(map(bare, native.marked)), set(map(bare, native.ends))
    why = {
        bare(case.id): case.message or "skipped"
        for case in native.tests or ()
        if file_of(case.id) in given and case.result is Result.SKIPPED and bare(case.id) not in marked
    }
    for path, names in given.items():
        tests = {f"{path}::{name}" for name in names} if path not in ended_tests else set[str]()
        others = [test for test in ended_tests - tests if file_of(test) == path]
        missing = [test for test in tests - ended_tests if not any(_is_made_of(test, each) for each in others)]
        why |= dict.fromkeys(sorted(missing), "it was left out")
    for test, reason in why.items():
        says = f"your test {test} did not run: {reason}"
        yield Finding(kind=FindingKind.GIVEN_IDLE, where=test, says=says)


def _is_made_of(test: str, other: str) -> bool:
    """Check whether a decorator may have made a test of another one: `A::test_b` becomes `A_0::test_b_1`."""
    parts, others = test.split("::"), other.split("::")
    return len(parts) == len(others) and all(now.startswith(then) for then, now in zip(parts, others, strict=True))


def find_idle(native: NativeRun, tests: Mapping[str, str]) -> Iterator[Finding]:
    """Report checks of new tests that never ran.

    Args:
        native: the run with the change.
        tests: the test files of the task and of the agent, path to text.
    """
    passed, ran = set(map(bare, native.passed)), defaultdict[str, set[int]](set)
    unknown = {file_of(test) for test in native.passed if test not in native.lines}
    for places in native.lines.values():
        for path, _, number in (location.rpartition(":") for location in places):
            ran[path].add(int(number))
    for path, text in tests.items():
        for name, checks in _find_tests(text) if path not in unknown else ():
            test = f"{path}::{name}"
            if test not in passed or not checks or checks <= ran[path]:
                continue
            if checks & ran[path]:
                line = min(checks - ran[path])
                yield Finding(kind=FindingKind.UNREACHED, where=test, says=f"line {line} of {path} never ran")
            else:
                yield Finding(kind=FindingKind.IDLE, where=test, says=f"{test} passes and no check of it ran")


@lru_cache(maxsize=32)
def find_checks(text: str) -> frozenset[int]:
    """Return the lines of a test file with checks that a passing test executes."""
    tree = parse_quietly(text)
    return frozenset(node.lineno for node in ast.walk(tree) if _is_check(node)) if tree else frozenset()


def _find_tests(text: str) -> Iterator[tuple[str, frozenset[int]]]:
    """List the tests of a file: name, and line numbers of the checks."""
    tree = parse_quietly(text)
    if tree is None:
        return
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                waiting.append((child, f"{prefix}{child.name}::"))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name.startswith("test"):
                checks = frozenset(each.lineno for each in ast.walk(child) if _is_check(each))
                yield f"{prefix}{child.name}", checks


def _is_check(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Check whether a statement is a check that a passing test executes; `assert` with a constant is not."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = last_name(node.value.func)
        return name.startswith("assert") or name in _ASSERTING
    return False
