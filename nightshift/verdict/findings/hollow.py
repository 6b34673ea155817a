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
    owners = {part for path in job.change for part in _PARTS.split(path)} | names
    if stubs := names & {name for tree in trees for name in _list_stubbed(tree, owners)}:
        return f"the self-written tests put a stub in the place of {min(stubs)}"
    if any(map(_writes_expected, trees)):
        return "the self-written tests write what they expect where it is missing"
    return ""


def _list_helpers(path: str, text: str, base: Tree) -> Iterator[str]:
    """List the texts of the base's modules beside or below the folder of a test file that the file imports."""
    tree, folder = parse_quietly(text), path[: path.rfind("/") + 1]
    nodes = list(ast.walk(tree)) if path.endswith(".py") and tree else []
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    stems = {name.rpartition(".")[2] for name in names}
    for other in base.entries() if folder else ():
        if other.startswith(folder) and other.endswith(".py") and other[:-3].rpartition("/")[2] in stems:
            yield text_of(base, other) or ""


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


def _list_stubbed(tree: ast.Module, owners: Collection[str]) -> Iterator[str]:
    """List the names that `unittest.mock.patch` or `monkeypatch.setattr` replaces in one of the modules `owners`.

    A dotted name is shortened to its last part.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts = [
                each.value for each in node.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            if last_name(node.func) in {"patch", "object", "setattr"} and texts:
                owner, _, name = texts[0].rpartition(".")
                owner = owner or last_name(node.args[0])
                if owner.rpartition(".")[2] in owners:
                    yield name


def _writes_expected(tree: ast.Module) -> bool:
    """Check whether the tests create a missing file in their own folder, such as the expected output."""
    is_beside = any(isinstance(node, ast.Name) and node.id == "__file__" for node in ast.walk(tree))
    for node in ast.walk(tree) if is_beside else ():
        if isinstance(node, ast.If) and re.search(r"\bnot\b.*\b(?:exists|is_file|isfile)\b", ast.unparse(node.test)):
            body = "\n".join(map(ast.unparse, node.body))
            if re.search(r"\.write(?:_text|_bytes|lines)?\(|\bdump\(|\bopen\([^)]*['\"][wx]", body):
                return True
    return False
