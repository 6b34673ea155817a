"""Misspelt names, attributes, keys and keywords that have a near one; what Python says it may mean comes first."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping

from repair.evaluation import Trouble
from repair.quick.importing import defined_otherwise, module_of
from repair.quick.mend import Mend
from repair.quick.source import Change, Source, near, place_of
from repair.quick.standard import listing
from repair.tree import Function

_UNKNOWN = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'")
_NO_ATTRIBUTE = re.compile(r"(?:'(\w+)' object|type object '(\w+)'|module '([\w.]+)') has no attribute '(\w+)'")
_NO_KEYWORD = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_MEANT = re.compile(r"Did you mean:? '(?:self\.)?(\w+)'")
_OTHER_WORDS = {
    "true": "True", "false": "False", "null": "None", "none": "None", "nil": "None", "NULL": "None",
    "this": "self", "elif": "else", "length": "len", "string": "str", "integer": "int", "boolean": "bool",
}  # fmt: skip
_OTHER_METHODS = {
    "push": "append", "add": "append", "append": "add", "push_back": "append", "enqueue": "append", "put": "append",
    "trim": "strip", "toUpperCase": "upper", "toLowerCase": "lower", "indexOf": "index", "concat": "extend",
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "delete": "remove",
}  # fmt: skip
_BUILTIN = {kind.__name__: kind for kind in (list, dict, str, set, tuple, int, float, bytes)}


def misspelt(told: str, trouble: Trouble, files: Mapping[str, Source]) -> Iterator[Mend]:
    """Mends of names that do not exist, by the kind of what was raised."""
    place = place_of(told, trouble, files)
    if trouble.kind in {"NameError", "UnboundLocalError"} and place:
        yield from _names(*place, trouble)
    elif trouble.kind == "AttributeError":
        yield from _attributes(place, trouble, files)
    elif trouble.kind == "KeyError" and place:
        yield from _keys(*place, trouble)
    elif trouble.kind == "TypeError":
        yield from _keywords(place, trouble, files)


def _meant(message: str) -> list[str]:
    """What Python itself suggests."""
    return _MEANT.findall(message)


def _names(source: Source, line: int, trouble: Trouble) -> Iterator[Mend]:
    found = _UNKNOWN.search(trouble.message)
    if found is None:
        return
    name = found.group(1) or found.group(2)
    uses = [node for node in source.nodes if isinstance(node, ast.Name) and node.id == name]
    here = [node for node in uses if node.lineno == line]
    if trouble.kind == "UnboundLocalError":
        uses = here
    known = [*_visible(source, line), *source.names, *dir(builtins)]
    options = [*_meant(trouble.message), *filter(None, [_OTHER_WORDS.get(name)]), *near(name, known)]
    for new in dict.fromkeys(options):
        yield from source.renamed(uses, name, new, "name")
        if len(here) < len(uses):
            yield from source.renamed(here, name, new, "name")
    stored = [node for node in source.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for node in stored:
        if node.id in near(name, [node.id]) and not _is_read(source, node.id):
            yield from source.renamed([node], node.id, name, "name")


def _is_read(source: Source, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in source.nodes
    )


def _visible(source: Source, line: int) -> list[str]:
    """The names that the function around a line binds, which are likelier than others."""
    function = source.function_at(line)
    if function is None:
        return []
    nodes = list(ast.walk(function))
    arguments = [node.arg for node in nodes if isinstance(node, ast.arg)]
    return [*arguments, *(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))]


def _attributes(
    place: tuple[Source, int] | None, trouble: Trouble, files: Mapping[str, Source]
) -> Iterator[Mend]:  # fmt: skip
    found = _NO_ATTRIBUTE.search(trouble.message)
    if found is None:
        return
    owner, lost = found.group(1) or found.group(2) or found.group(3), found.group(4)
    if place is not None:
        source, line = place
        nodes = [node for node in source.nodes if isinstance(node, ast.Attribute) and node.attr == lost]
        here = [node for node in nodes if line in {node.lineno, node.end_lineno}] or nodes
        for new in _near_attributes(owner, lost, trouble, files):
            changes = [Change(*source.attribute_spot(node), new) for node in here]
            yield from source.mend(source.with_changes(changes), "attribute", f"`.{lost}` becomes `.{new}`")
    yield from _defined_otherwise(owner, lost, files)


def _near_attributes(owner: str, lost: str, trouble: Trouble, files: Mapping[str, Source]) -> list[str]:
    options = _meant(trouble.message)
    kind = _BUILTIN.get(owner)
    if kind is not None:
        other = _OTHER_METHODS.get(lost)
        known = [name for name in dir(kind) if not name.startswith("_")]
        return list(dict.fromkeys([*options, *([other] if other in known else []), *near(lost, known)]))
    if listing(owner):
        return list(dict.fromkeys([*options, *near(lost, listing(owner))]))
    for source in files.values():
        owned = [part for part in source.nodes if isinstance(part, ast.ClassDef) and part.name == owner]
        for node in owned:
            options += near(lost, _of_class(node))
    if not options:
        options = near(lost, [name for source in files.values() for name in source.attributes])
    return list(dict.fromkeys(options))


def _of_class(owner: ast.ClassDef) -> list[str]:
    methods = [node.name for node in owner.body if isinstance(node, Function)]
    fields = [
        node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    named = [node.id for part in owner.body for node in ast.walk(part) if isinstance(part, ast.Assign | ast.AnnAssign)
             and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]  # fmt: skip
    return [*methods, *fields, *named]


def _defined_otherwise(owner: str, lost: str, files: Mapping[str, Source]) -> Iterator[Mend]:
    """What the tests ask for by a name is defined by a near one: the definition, and all that uses it, is renamed."""
    for path, source in files.items():
        if module_of(path) == owner:
            yield from defined_otherwise(source, lost)
        for node in source.nodes:
            names = _of_class(node) if isinstance(node, ast.ClassDef) and node.name == owner else []
            for old in near(lost, names):
                text = re.sub(rf"\b{re.escape(old)}\b", lost, source.text)
                yield from source.mend(text, "attribute", f"`{old}` is called `{lost}`")


def _keys(source: Source, line: int, trouble: Trouble) -> Iterator[Mend]:
    try:
        lost = ast.literal_eval(trouble.message.strip())
    except (ValueError, SyntaxError):
        return
    texts = [node for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    here = [node for node in texts if node.lineno == line and node.value == lost]
    known = [node.value for node in texts if isinstance(node.value, str) and node.value != lost]
    for new in near(lost, known) if isinstance(lost, str) else ():
        for node in here:
            spot = source.spot(node, len(repr(lost)))
            change = Change(*spot, repr(new) if "'" in source.lines[line - 1][spot[1] :][:1] else f'"{new}"')
            yield from source.mend(source.with_changes([change]), "key", f"`{lost!r}` becomes `{new!r}`")


def _keywords(
    place: tuple[Source, int] | None, trouble: Trouble, files: Mapping[str, Source]
) -> Iterator[Mend]:  # fmt: skip
    found = _NO_KEYWORD.search(trouble.message)
    if found is None:
        return
    name, lost = found.groups()
    for source in files.values():
        for function in (node for node in source.nodes if _is_called(node, name)):
            parameters = [node for node in ast.walk(function) if isinstance(node, ast.arg)]
            for new in near(lost, [node.arg for node in parameters]):
                if place is not None:
                    yield from _at_call(place[0], place[1], lost, new)
                nodes = [node for node in ast.walk(function) if _is_named(node, new)]
                yield from source.renamed(nodes, new, lost, "keyword")  # type: ignore[arg-type] # see _is_named


def _is_called(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name == name
    return isinstance(node, Function) and node.name == name


def _is_named(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.arg) and node.arg == name)


def _at_call(source: Source, line: int, lost: str, new: str) -> Iterator[Mend]:
    for node in source.nodes:
        if isinstance(node, ast.keyword) and node.arg == lost and node.lineno == line:
            change = Change(*source.spot(node, len(lost)), new)
            yield from source.mend(source.with_changes([change]), "keyword", f"`{lost}=` becomes `{new}=`")
