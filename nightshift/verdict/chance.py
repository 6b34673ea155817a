"""Which tests of a run stand in the base as they are: what such a test says may be chance, and no word on the change.

A test that measures seconds, or waits for a process, fails now and then on a busy machine. Of a test that the task
brings this is not known, and code that passes it only sometimes is wrong. Of one that stood in the base word for word
it can be found out, in a file of the base as in one that the task gives with other tests beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import lru_cache

from nightshift.core.code.parsing import parse_quietly
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile


def stands(file: SuiteFile, name: str, before: str | None) -> bool:
    """Tell whether the base has a test with the same text.

    Args:
        file: of a run.
        name: the test's, as its owner knows it, without parameters; empty for the whole file.
        before: the file's text in the base; None where there is none.
    """
    if file.role is Role.REGRESSION or file.original == before:
        return True
    if before is None or not name or not file.path.endswith(".py"):
        return False
    text = _functions(file.original).get(name)
    return text is not None and _functions(before).get(name) == text


def again(planned: Plan, failed: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """What to run to see tests alone, as the run has them: whole files of the base's tests, else single tests.

    Args:
        planned: the run.
        failed: path to the names of tests, as their owner knows them, without parameters.
    """
    found = list[str]()
    for file in planned.files:
        if file.path in failed and (file.role is Role.REGRESSION or planned.launch):
            found.append(file.staged)
        elif file.path in failed:
            staged = {name: there for there, name in file.names.items()}
            found += sorted(f"{file.staged}::{staged.get(name, name)}" for name in failed[file.path])
    return tuple(found)


@lru_cache(maxsize=8)
def _functions(text: str) -> Mapping[str, str]:
    """Functions of a module, named as pytest does it, with what stands in them but for comments and layout."""
    tree = parse_quietly(text)
    return dict(_in(tree.body, "")) if tree else {}


def _in(body: list[ast.stmt], scope: str) -> list[tuple[str, str]]:
    found = list[tuple[str, str]]()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((f"{scope}{node.name}", ast.dump(node)))
        elif isinstance(node, ast.ClassDef):
            found += _in(node.body, f"{scope}{node.name}::")
    return found
