"""Writes the request to a model for an item: the commit's message, and the names that the commit's tests use.

If a test failed only because the model chose another name than the author, the test would judge a guess. So the request
lists the names whose absence makes tests fail, with their signatures in the commit. Sentences of the message that
reveal the change are left out. A sentence reveals the change if it contains a long identifier that the commit
introduces and that no test names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nightshift.core.code.parsing import parse
from nightshift.core.tasks.commit_message import without_trailers
from nightshift.core.tasks.task import Change

_MISSED = (
    re.compile(r"cannot import name '(?P<name>\w+)'"),
    re.compile(r"No module named '(?P<name>[\w.]+)'"),
    re.compile(r"has no attribute '(?P<name>\w+)'"),
    re.compile(r"name '(?P<name>\w+)' is not defined"),
    re.compile(r"got an unexpected keyword argument '(?P<name>\w+)'"),
    re.compile(r"(?P<name>\w+) is not (?:a function|defined)\b"),
    re.compile(r"undefined: (?P<name>[\w.]+)"),
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n+")
TELLING_TOKENS = 3
"""An identifier with more tokens than this reveals how a change was made."""
_HEADING = "Names that are expected:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The request text of an item.

    Attributes:
        text: the text; empty if the subject itself reveals the change.
        unnamed: names that tests miss, but that the message does not mention and for which no signature was found.
        leaked: identifiers of the change that the commit's message contained.
    """

    text: str
    unnamed: frozenset[str] = frozenset()
    leaked: tuple[str, ...] = ()


def missing_name(message: str) -> str | None:
    """Return the name that a failure reports as missing; None for any other failure."""
    first_match = next((match for pattern in _MISSED if (match := pattern.search(message))), None)
    return first_match["name"].rpartition(".")[2] if first_match else None


def write_statement(
    message: str, change: Change, before: Mapping[str, str], tests: Iterable[str], missed: Collection[str]
) -> Statement:
    """Turn a commit's message into a request.

    Args:
        message: the commit's message.
        change: the commit's change without its tests: path to new text.
        before: the texts of these files before the commit.
        tests: the texts of its tests.
        missed: the names that tests miss without the change.
    """
    words = without_trailers(message)
    named = {name for text in tests for name in _IDENTIFIER.findall(text)}
    answer = _telling(change, before) - named
    leaked = tuple(sorted(answer.intersection(_IDENTIFIER.findall(words))))
    subject, _, body = words.partition("\n")
    if leaked and answer.intersection(_IDENTIFIER.findall(subject)):
        return Statement(text="", leaked=leaked)
    if leaked:
        sentences = [part for part in _SENTENCE.split(body) if answer.isdisjoint(_IDENTIFIER.findall(part))]
        words = f"{subject}\n\n{' '.join(filter(None, map(str.strip, sentences)))}".strip()
    unsaid = [name for name in sorted(missed) if not _says(words, name)]
    signatures = dict(_signatures(change, frozenset(unsaid)))
    lines = [f"- {signatures[name]}" for name in unsaid if name in signatures]
    text = "\n\n".join([words, "\n".join([_HEADING, *lines])] if lines else [words])
    return Statement(text=text, unnamed=frozenset(unsaid) - signatures.keys(), leaked=leaked)


def _says(words: str, name: str) -> bool:
    """Check whether the text mentions a name; a name that is an ordinary word must look like code."""
    code = rf"[`.]{re.escape(name)}\b|\b{re.escape(name)}[`(=]"
    return bool(re.search(rf"\b{re.escape(name)}\b" if re.search(r"[A-Z0-9_]", name) else code, words))


def _telling(change: Change, before: Mapping[str, str]) -> set[str]:
    """Return the long identifiers that a change introduces."""
    old = {name for text in before.values() for name in _IDENTIFIER.findall(text)}
    new = {name for text in change.values() if text for name in _IDENTIFIER.findall(text)}
    return {name for name in new - old if len(_TOKEN.findall(name)) > TELLING_TOKENS}


def _signatures(change: Change, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the signature of each wanted definition in a change.

    Arguments of functions count as definitions too. An inner definition comes after the definition that encloses it.
    """
    for path, text in change.items():
        if text is None or not wanted:
            continue
        module = path.rpartition("/")[2].removesuffix(".py")
        if module in wanted and path.endswith(".py"):
            yield module, f"the module `{path}`"
        try:
            tree = parse(text) if path.endswith(".py") else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for owner, node in _definitions(tree) if tree else ():
            location = f"in the class `{owner}`, `{path}`" if owner else f"in `{path}`"
            for name in _attributes(node) & set(wanted) if owner else ():
                yield name, f"the attribute `{name}` {location}"
            for name in _names(node) & set(wanted):
                yield name, f"`{_signature(node)}` {location}"


def _definitions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield the definitions of a module or a class, each with the name of the enclosing class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign):
            yield owner, node
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{owner}.{node.name}".lstrip("."))
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, owner)


def _names(node: ast.stmt) -> set[str]:
    """Return the names that a definition introduces, including the names of its arguments."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return {node.name, *(each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))}
        case ast.ClassDef():
            return {node.name}
        case ast.Assign():
            return {each.id for each in node.targets if isinstance(each, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _attributes(node: ast.stmt) -> set[str]:
    """Return the attributes that a method sets on its object."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
    }


def _signature(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"{word} {node.name}({ast.unparse(node.args)}){returns}"
        case ast.ClassDef():
            bases = ", ".join(map(ast.unparse, node.bases))
            return f"class {node.name}({bases})" if bases else f"class {node.name}"
        case ast.Assign():
            return ", ".join(map(ast.unparse, node.targets))
        case ast.AnnAssign():
            return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
    return ""
