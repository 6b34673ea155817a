"""Prepares test files for a run: under random names, each with a copy in which every test must fail.

The copy is the same file under another random name with one expected value of each test changed. Nothing that treats
all tests alike (exits, hooks, objects equal to everything, patched assertions) can satisfy both. Where a test has no
check that can be changed, its copy runs through and then fails by itself.

A name stays as it is wherever something else may rely on it: other mentions of it in the tests, code that asks for a
test's own name, data stored under a file's name. A file that keeps its name has no copy but a canary beside it.
"""

from __future__ import annotations

import ast
import random
import re
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from nightshift.core.code.parsing import parse
from nightshift.core.tasks.task import Files
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, Source
from nightshift.verdict.languages.plan import Excuses, Role, SuiteFile
from nightshift.verdict.languages.python.copies import must_fail_copy
from nightshift.verdict.languages.python.excuses import excuses
from nightshift.verdict.languages.python.outline import Case, Outline, outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.unittest_skips import as_pytest

_ASKS_OWN_NAME = re.compile(r"__name__|__qualname__|\bnodeid\b|\bnode\b|_getframe|currentframe|inspect|CURRENT_TEST")
_FOLDER_OF_FILE = re.compile(
    r"(Path\(__file__\)(\.(resolve|absolute)\(\))?\.parent|dirname\((\w+\.)*(abspath|realpath)?\(?__file__)"
)
_ASKS_FILE_NAME = re.compile(r"__file__|\brequest\.(path|fspath)\b|\bdatadir\b")
_WORD = re.compile(r"\w+")
_PRELOADED = frozenset({"hypothesis", "unittest"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides how a test file may be changed: the other tests, and the paths of the tree."""

    settings: PytestSettings
    texts: str
    paths: Collection[str]


def prepare(role: Role, tests: Files, around: Surroundings) -> Iterator[SuiteFile]:
    """Prepare the test files among `tests`; what is no test file (helpers, data) is left to the caller."""
    for path in suite_paths(tests, around.settings):
        yield _prepared(role, path, tests[path].replace("\r\n", "\n").replace("\r", "\n"), around)


def suite_paths(tests: Files, settings: PytestSettings) -> list[str]:
    """Those of the files that hold tests: by their names, or all Python files when no name says so."""
    python = [path for path in tests if path.endswith(".py")]
    named = [path for path in python if settings.is_suite(path)]
    support = {"conftest.py", "__init__.py"}
    return named or [path for path in python if PurePosixPath(path).name not in support]


def canary(folder: str, settings: PytestSettings) -> tuple[str, str, frozenset[str]]:
    """Path, text and test name of a file whose only test must fail."""
    name = _random_name(settings.functions[0])
    low, high = secrets.randbelow(1000), 1000 + secrets.randbelow(9000)
    return folder + _random_file(settings), f"def {name}():\n    assert {low} == {high}\n", frozenset({name})


def _prepared(role: Role, path: str, text: str, around: Surroundings) -> SuiteFile:
    settings, folder = around.settings, path[: path.rfind("/") + 1]
    try:
        source = Source(as_pytest(text) if role is Role.GIVEN else text)
    except SyntaxError:
        return SuiteFile(role=role, path=path, staged=path, text=text, original=text)
    found = outline(source.tree, settings)
    new_names = _new_names(source, found, around)
    renamed, names = _renamed(source, found, new_names)
    keeps_name = _keeps_name(path, source.text, found, around)
    fallback, copy = canary(folder, settings), None if keeps_name else _copy(renamed, settings)
    if copy:
        fallback = (folder + _random_file(settings), copy, frozenset(names))
    return SuiteFile(
        role=role,
        path=path,
        staged=path if keeps_name else folder + _random_file(settings),
        text=renamed,
        original=text,
        outline=found,
        names=names,
        must_fail_path=fallback[0],
        must_fail_text=fallback[1],
        must_fail_names=fallback[2],
        copied=bool(copy),
        preload=_imported(source.tree) & _PRELOADED,
        excuses=excuses(source.tree, found.cases) if role is Role.GIVEN else Excuses(),
    )


def _new_names(source: Source, found: Outline, around: Surroundings) -> dict[str, str]:
    """New names for those functions that nothing but their definitions mentions."""
    if _ASKS_OWN_NAME.search(source.text):
        return {}
    new: dict[str, str] = {}
    for name in sorted({case.node.name for case in found.cases}):
        cases = [case for case in found.cases if case.node.name == name]
        places = {source.name_of(case.node) for case in cases}
        mentions = _mentions(name, around.texts)
        if None not in places and mentions == len(places) and not any(_derives_examples(case) for case in cases):
            new[name] = _random_name(around.settings.pattern_of(name))
    return new


def _derives_examples(case: Case) -> bool:
    """Hypothesis derives its examples from a test's source: under another name they would be others."""
    return any("given" in ast.dump(decorator) for decorator in case.node.decorator_list)


def _renamed(source: Source, found: Outline, new: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    edits, names = list[Edit](), dict[str, str]()
    for case in found.cases:
        name = new.get(case.node.name, case.node.name)
        names["::".join([*case.name.split("::")[:-1], name])] = case.name
        if name != case.node.name and (place := source.name_of(case.node)):
            edits.append(Edit(*place, name))
    return source.edited(edits), names


def _keeps_name(path: str, text: str, found: Outline, around: Surroundings) -> bool:
    """Tell whether something may rely on a file's name; its one test is often called like it, which is no mention."""
    stem = PurePosixPath(path).stem
    definitions = len({id(case.node) for case in found.cases if case.node.name == stem})
    if _mentions(stem, around.texts) > definitions or _ASKS_FILE_NAME.search(_FOLDER_OF_FILE.sub("", text)):
        return True
    others = (other for other in around.paths if stem in other and other != path)
    return any(part == stem or part.startswith(f"{stem}.") for other in others for part in other.split("/"))


def _mentions(name: str, texts: str) -> int:
    """How often the texts say a name."""
    if _WORD.fullmatch(name):
        return _words(texts).get(name, 0)
    return len(re.findall(rf"\b{re.escape(name)}\b", texts))


@lru_cache(maxsize=2)
def _words(texts: str) -> Mapping[str, int]:
    """The words of all tests, counted once: a search for each of their names takes longer than many suites run."""
    return Counter(_WORD.findall(texts))


def _copy(text: str, settings: PytestSettings) -> str | None:
    """The must-fail copy, or None where the text cannot be edited safely."""
    source = Source(text)
    cases = outline(source.tree, settings).cases
    copy = must_fail_copy(source, [case.node for case in cases], random.SystemRandom())
    try:
        parse(encode(copy))
    except SyntaxError:
        return None
    return copy


def _imported(tree: ast.Module) -> frozenset[str]:
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return frozenset(name.partition(".")[0] for name in names)


def _random_name(pattern: str) -> str:
    token = secrets.token_hex(4)
    return pattern.replace("*", token) if "*" in pattern else f"{pattern.rstrip('_')}_{token}"


def _random_file(settings: PytestSettings) -> str:
    name = settings.files[0].rpartition("/")[2].replace("*", secrets.token_hex(4), 1)
    fits = name.endswith(".py") and name != settings.files[0] and not set(name) & set("*?[")
    return name if fits else f"test_{secrets.token_hex(4)}.py"
