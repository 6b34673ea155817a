"""Extracts a file's tags, and caches them: the names that it defines, the names that it refers to, and its words."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from nightshift.agent import golang_outline
from nightshift.agent.name_index import NameIndex, Tags
from nightshift.agent.python_outline import parse_python
from nightshift.core.code import golang, javascript

MOST_FILES = 20_000
"""Maximum number of files in a tree whose tags are read."""
MOST_NAMES = 400
"""Maximum number of references that are stored for a file; the most frequent ones are kept. A file with more
references, such as a data table, refers to names that say nothing about the file.
"""
MOST_WORDS = 2000
_MAX_CHARS = 400_000
_PLAIN = (".html", ".css", ".sql")
"""Extensions of source files that are found only by their words, not by names."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_JS_NAMES = frozenset({"identifier", "property_identifier", "type_identifier"})
_JS_DEFINE = frozenset({"method_definition"}) | {
    f"{kind}_declaration"
    for kind in ("function", "generator_function", "class", "abstract_class", "interface", "type_alias", "enum")
}


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case and the singular; an identifier counts as the words inside it."""
    return frozenset(_singular(word.lower()) for word in set(_WORDS.findall(text)) if len(word) > 2)


def _singular(word: str) -> str:
    """Remove the plural s of a word. Wrongly cut words do no harm, because all compared words are cut the same way."""
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "suia" else word


parts_of = lru_cache(maxsize=200_000)(words_of)
"""Cached `words_of` for paths and names, which recur in each prompt."""


def words_of_name(path: str) -> frozenset[str]:
    """Return the words of a file's name, without its folder and extension."""
    return parts_of(path.rsplit("/", 1)[-1].partition(".")[0])


def is_mapped(path: str) -> bool:
    """Check whether tags are read from files of this name."""
    return path.endswith((".py", *_PLAIN)) or javascript.is_source(path) or golang.is_source(path)


def tags(path: str, text: str) -> Tags:
    """Return the tags of a file; empty if it is too long."""
    if len(text) > _MAX_CHARS:
        return Tags()
    words = tuple(map(sys.intern, sorted(words_of(text))[:MOST_WORDS]))
    if path.endswith(_PLAIN):
        return Tags(words=words)
    if golang.is_source(path):
        occurrences = golang_outline.names(text)
    else:
        occurrences = _javascript(path, text) if javascript.is_source(path) else _python(text)
    defined, referred = list[str](), Counter[str]()
    for name, is_definition in occurrences:
        if len(name) < 3 or name.startswith("__"):
            continue
        if is_definition:
            defined.append(name)
        else:
            referred[name] += 1
    defines = tuple(dict.fromkeys(defined))
    for name in defines:
        del referred[name]
    return Tags(defines=defines, refers=dict(referred.most_common(MOST_NAMES)), words=words)


def _python(text: str) -> Iterator[tuple[str, bool]]:
    tree = parse_python(text)
    for top in tree.body if tree else ():
        yield from ((name, True) for name in _list_assigned(top))
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.ClassDef(name=name, body=body):
                yield name, True
                yield from ((member, True) for each in body for member in _list_assigned(each) if member.isupper())
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name, False
            case ast.ImportFrom(names=names):
                yield from ((alias.name, False) for alias in names)


def _list_assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _javascript(path: str, text: str) -> Iterator[tuple[str, bool]]:
    for node in javascript.walk(javascript.parse(path, text)):
        if node.type in _JS_DEFINE:
            yield javascript.node_text(node.child_by_field_name("name")), True
        elif node.type == "variable_declarator" and node.parent and node.parent.parent:
            outer = node.parent.parent.type
            yield javascript.node_text(node.child_by_field_name("name")), outer in {"program", "export_statement"}
        elif node.type in _JS_NAMES:
            yield javascript.node_text(node), False


class SymbolCache:
    """A cache of tags by content id; beyond `most` entries, the oldest ones are dropped. Thread-safe.

    `shared` is the name index of the daemon's own workspace. With the default limit, a full cache needs some tens of
    megabytes and covers several large repositories.
    """

    def __init__(self, most: int = 50_000) -> None:
        self._most, self._lock = most, threading.Lock()
        self._tags_by_content: dict[str, Tags] = {}
        self.shared = NameIndex(words_of_name, MOST_FILES)

    def __len__(self) -> int:
        return len(self._tags_by_content)

    def get(self, content: str) -> Tags | None:
        """Return the tags of the file content with this id; None if they are not cached."""
        return self._tags_by_content.get(content)

    def put(self, content: str, file_tags: Tags) -> Tags:
        """Store the tags of the file content with this id, and return them."""
        with self._lock:
            self._tags_by_content[content] = file_tags
            while len(self._tags_by_content) > self._most:
                del self._tags_by_content[next(iter(self._tags_by_content))]
        return file_tags
