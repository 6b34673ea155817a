"""Finds tests written by the agent that prove nothing about the task.

Such tests compare no value, do not call the code, or replace the code with a stub. The tests are read, not run, because
a test that fails without the change and passes with it may still check only types or the source text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from nightshift.core.code import javascript
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.tasks.language_choice import language_of
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.findings.assets import Surroundings, find_reason
from nightshift.verdict.languages import dialect_of
from nightshift.verdict.languages.python.outline import last_name
from nightshift.verdict.word_names import read_names

_RUNS = re.compile(
    r"\b(?:subprocess|runpy|system|popen|spawn\w*|exec(?:File)?(?:Sync)?|child_process|CliRunner|client|TestClient|urlopen"
    r"|requests|http|fetch|supertest|inject|import_module|__import__|spec_from_file_location)\b",
    re.IGNORECASE,
)
"""Words that show that a test uses the code without naming it: it starts a program or opens a connection."""
_PARTS = re.compile(r"/|\.py$")
_WORD = re.compile(r"[A-Za-z_]\w*")
_IDENTIFIERS = frozenset({"identifier", "property_identifier", "shorthand_property_identifier"})


def describe_hollow(job: SuiteJob, tests: Mapping[str, str]) -> str:
    """Return why tests prove nothing about a task; empty if they may prove something.

    Args:
        job: the job with the task's text and the change.
        tests: the tests written by the agent, path to text.
    """
    helpers = [text for path, text in tests.items() for text in _list_helpers(path, text, job.base)]
    if not any(dialect_of(job.language).checks_something(text) for text in (*tests.values(), *helpers)):
        return "the self-written tests compare no value: they prove nothing"
    names = {name.rpartition(".")[2] for name in read_names(job.asked or "", ()).defined}
    used = {name for path, text in tests.items() for name in _list_used(path, text)}
    if not any(_RUNS.search(text) for text in tests.values()):
        if names and not names & used:
            return f"no self-written test calls {' or '.join(sorted(names)[:3])}"
        has_code = not job.change or any(map(language_of, job.change))
        if has_code and not any(_reaches_code(path, text, job) for path, text in tests.items()):
            return "no self-written test imports anything of the code"
    trees = [tree for path, text in tests.items() if path.endswith(".py") and (tree := parse_quietly(text))]
    modules = _list_parts(job.base).union(*map(_PARTS.split, job.change))
    product = [
        tree for path, text in job.change.items() if path.endswith(".py") and (tree := parse_quietly(text or ""))
    ]
    libraries = {name for tree in (*product, *trees) for name in _list_libraries(tree, modules)}
    if stubs := names & {name for tree in trees for name in _list_stubbed(tree, modules, libraries)}:
        return f"the self-written tests put a stub in the place of {min(stubs)}"
    if any(map(_writes_expected, trees)):
        return "the self-written tests write what they expect where it is missing"
    return ""


def _list_helpers(path: str, text: str, base: Tree) -> Iterator[str]:
    """List the texts of the definitions that a test file uses from helpers of the base's tests that it imports."""
    tree = parse_quietly(text) if path.endswith(".py") else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)] if tree else []
    names = {part for node in nodes for alias in node.names for part in alias.name.split(".")}
    names |= {part for node in nodes for part in (getattr(node, "module", "") or "").split(".")}
    used = {*_list_used(path, text)}
    for other in base.entries() if names else ():
        if other.endswith(".py") and other[:-3].rpartition("/")[2] in names:
            helper = text_of(base, other) or ""
            is_asset = find_reason(other, helper, helper, Surroundings(read={}, modules=(other,)))
            yield from _list_definitions(helper, used) if is_asset else ()


def _list_definitions(text: str, names: Collection[str]) -> Iterator[str]:
    """List the texts of a module's functions and classes with one of the names, and of those that they use."""
    tree, names = parse_quietly(text), {*names}
    waiting = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)] if tree else []
    while used := [node for node in waiting if node.name in names]:
        waiting = [node for node in waiting if node not in used]
        for node in used:
            yield (definition := ast.unparse(node))
            names |= {*_list_used("a.py", definition)}


def _reaches_code(path: str, text: str, job: SuiteJob) -> bool:
    """Check whether a test file imports a file of the tree.

    The result is true for every language except Python, JavaScript and TypeScript.
    """
    if javascript.is_source(path):
        is_workspace = any(name.endswith("/package.json") for name in job.base.entries())
        return is_workspace or any(name[0] in ".#~@" for name in javascript.specifiers(path, text))
    if not path.endswith(".py"):
        return True
    modules = _list_parts(job.base).union(*map(_PARTS.split, job.change))
    tree = parse_quietly(text)
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)] if tree else []
    names = {alias.name for node in imported if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in imported if isinstance(node, ast.ImportFrom) and not node.level}
    return any(name.partition(".")[0] in modules for name in names) or any(
        isinstance(node, ast.ImportFrom) and node.level for node in imported
    )


@lru_cache(maxsize=2)
def _list_parts(tree: Tree) -> frozenset[str]:
    """Return the names of all folders, files and Python modules in the paths of a tree."""
    return frozenset().union(*map(_PARTS.split, tree.entries()))


def _list_used(path: str, text: str) -> Iterator[str]:
    """List the names that code uses, except names that occur only in import statements."""
    if path.endswith(".py"):
        for part in ast.walk(parse_quietly(text) or ast.Module(body=[], type_ignores=[])):
            yield from (getattr(part, word) for word in ("id", "attr") if isinstance(getattr(part, word, None), str))
    elif javascript.is_source(path):
        end = 0
        for node in javascript.walk(javascript.parse(path, text)):
            end = node.end_byte if node.type == "import_statement" else end
            if node.type in _IDENTIFIERS and node.start_byte >= end:
                yield javascript.node_text(node)
    else:
        yield from _WORD.findall(text)


def _list_stubbed(tree: ast.Module, modules: Collection[str], libraries: Collection[str]) -> Iterator[str]:
    """List the names that `unittest.mock.patch` or `monkeypatch.setattr` replaces, except those of libraries.

    A dotted name is shortened to its last part.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts = [
                each.value for each in node.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            if last_name(node.func) in {"patch", "object", "setattr"} and texts:
                owner, dot, name = texts[0].rpartition(".")
                parts = (owner if dot else ast.unparse(node.args[0])).split(".")
                is_outside = bool(dot) and parts[0] not in modules
                if not is_outside and parts[-1] not in libraries:
                    yield name


def _list_libraries(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    """List the names that a module imports from outside of the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.asname or each.name for each in node.names if each.name.partition(".")[0] not in modules)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] not in modules:
            yield from (alias.asname or alias.name for alias in node.names)


def _writes_expected(tree: ast.Module) -> bool:
    """Check whether the tests create a missing file in their own folder, such as the expected output."""
    is_beside = any(isinstance(node, ast.Name) and node.id == "__file__" for node in ast.walk(tree))
    for node in ast.walk(tree) if is_beside else ():
        if isinstance(node, ast.If) and re.search(r"\bnot\b.*\b(?:exists|is_file|isfile)\b", ast.unparse(node.test)):
            body = "\n".join(map(ast.unparse, node.body))
            if re.search(r"\.write(?:_text|_bytes|lines)?\(|\bdump\(|\bopen\([^)]*['\"][wx]", body):
                return True
    return False
