"""Imports put in where the file has its imports, and imports that are missing or misspelt."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from repair.evaluation import Trouble
from repair.quick.mend import Mend
from repair.quick.source import Change, Source, near, place_of
from repair.quick.standard import is_standard, listing, module_names, modules_of
from repair.tree import Function

_UNKNOWN = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_MOST = 3


def missing_imports(told: str, trouble: Trouble, files: Mapping[str, Source]) -> Iterator[Mend]:
    """A NameError of what a module offers: of the standard library, or another file of the tree."""
    found = _UNKNOWN.search(trouble.message)
    place = place_of(told, trouble, files)
    if trouble.kind != "NameError" or found is None or place is None:
        return
    name, (source, _) = found.group(1), place
    for module, part in _offers(name, source, files):
        text = with_import(source, module, part)
        yield from source.mend(text, "import", f"`{_statement(module, part)}` is put in")


def _offers(name: str, source: Source, files: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
    """Modules, each with the name to take from it, or with the empty text for the module itself."""
    own = [(module_of(path), name) for path, other in files.items() if other is not source and _defines(other, name)]
    yield from own[:_MOST]
    whole = [(name, "")] if is_standard(name) or any(module_of(path) == name for path in files) else []
    parts = [(module, name) for module in modules_of(name)[:_MOST]]
    yield from [*whole, *parts] if whole and _used_as_module(source, name) else [*parts, *whole]


def _defines(source: Source, name: str) -> bool:
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return True
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False


def _used_as_module(source: Source, name: str) -> bool:
    """Tell whether a name is used with attributes that the module has; `now` of `datetime.now()` is none of those."""
    used = [node for node in source.nodes if isinstance(node, ast.Attribute)]
    attributes = {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == name}
    offered = listing(name)
    return bool(attributes) and (not offered or attributes <= {*offered, "path", "abc"})


def module_of(path: str) -> str:
    """The dotted name by which a file is imported; a folder `src` is none of a package."""
    parts = path.removesuffix(".py").split("/")
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _statement(module: str, part: str) -> str:
    return f"from {module} import {part}" if part else f"import {module}"


def with_import(source: Source, module: str, part: str) -> str:
    """The text with an import: at one of the same module, else behind the imports, the docstring, the future."""
    body = source.tree.body
    same = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == module and not node.level]
    lines = list(source.lines)
    for node in same:
        line = lines[node.lineno - 1]
        if part and node.lineno == node.end_lineno and "(" not in line and "#" not in line and "*" not in line:
            lines[node.lineno - 1] = _extended(node, part) + line[len(line.rstrip()) :]
            return "\n".join(lines)
    at, alone = _place(source, bool(part))
    new = [_statement(module, part)]
    if alone and at < len(lines) and lines[at].strip():
        new += [""] if not _opens_block(body) else ["", ""]
    if alone and at and lines[at - 1].strip():
        new = ["", *new]
    end = "\r" if "\r\n" in source.text else ""
    return "\n".join([*lines[:at], *(line + end for line in new), *lines[at:]])


def _extended(node: ast.ImportFrom, part: str) -> str:
    """The import with one name more; in order, where the names were."""
    texts = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in node.names]
    grown = [*texts, part]
    return f"from {node.module} import {', '.join(sorted(grown) if texts == sorted(texts) else grown)}"


def _opens_block(body: list[ast.stmt]) -> bool:
    first = next((node for node in body if not _is_docstring(node)), None)
    return isinstance(first, Function | ast.ClassDef)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _place(source: Source, wants_from: bool) -> tuple[int, bool]:
    """The index of the line before which an import is put in, and whether it stands alone there.

    Imports further down, in an `if` or after code, count for nothing.
    """
    leading: list[ast.Import | ast.ImportFrom] = []
    for node in source.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            leading.append(node)
        elif not _is_docstring(node):
            break
    usual = [node for node in leading if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    if usual:
        kind = ast.ImportFrom if wants_from else ast.Import
        alike = [node for node in usual if isinstance(node, kind)]
        if alike or wants_from:
            return (alike or usual)[-1].end_lineno or 0, False
        return usual[0].lineno - 1, False
    before: list[ast.stmt] = [*leading] or [node for node in source.tree.body[:1] if _is_docstring(node)]
    if before:
        return before[-1].end_lineno or 0, True
    start = 0
    while start < len(source.lines) and source.lines[start].startswith("#"):
        start += 1
    return start, True


def misspelt_imports(_: str, trouble: Trouble, files: Mapping[str, Source]) -> Iterator[Mend]:
    """A module or a name to import that has one near spelling."""
    lost = _NO_MODULE.search(trouble.message)
    if lost and trouble.kind == "ModuleNotFoundError":
        yield from _other_module(lost.group(1), files)
    named = _NO_NAME.search(trouble.message)
    if named and trouble.kind == "ImportError":
        yield from _other_name(named.group(1), named.group(2), files)


def _other_module(lost: str, files: Mapping[str, Source]) -> Iterator[Mend]:
    known = [module_of(path) for path in files]
    for source in files.values():
        for new in near(lost, [*known, *(part.partition(".")[0] for part in known), *module_names()]):
            pattern = re.compile(rf"\b{re.escape(lost)}\b")
            numbers = {
                node.lineno
                for node in source.nodes
                if (isinstance(node, ast.ImportFrom) and _begins(node.module or "", lost))
                or (isinstance(node, ast.Import) and any(_begins(alias.name, lost) for alias in node.names))
            }
            changes = [
                Change(number, hit.start(), hit.end(), new)
                for number in numbers
                for hit in pattern.finditer(source.lines[number - 1])
            ][:1]
            uses = [
                Change(*source.spot(node, len(lost)), new)
                for node in source.nodes
                if isinstance(node, ast.Name) and node.id == lost
            ]
            yield from source.mend(source.with_changes([*changes, *uses]), "import", f"`{lost}` becomes `{new}`")
            yield from source.mend(source.with_changes(changes), "import", f"`{lost}` becomes `{new}`")


def _begins(module: str, lost: str) -> bool:
    return module == lost or module.startswith(lost + ".")


def _other_name(name: str, module: str, files: Mapping[str, Source]) -> Iterator[Mend]:
    """The import takes the near name; or, where a test asks for it, what the module defines gets the name."""
    target = next((source for path, source in files.items() if module_of(path) == module), None)
    offered = _top_names(target) if target else listing(module)
    for new in near(name, offered):
        for source in files.values():
            changes = _imported(source, name, module, new)
            yield from source.mend(source.with_changes(changes), "import", f"`{name}` becomes `{new}`")
    if target is not None:
        yield from defined_otherwise(target, name)
    for other in modules_of(name):
        for source in files.values():
            for node in source.nodes:
                if (
                    isinstance(node, ast.ImportFrom)
                    and node.module == module
                    and [a.name for a in node.names] == [name]
                ):
                    line = source.lines[node.lineno - 1]
                    start = line.find(module)
                    change = Change(node.lineno, start, start + len(module), other)
                    yield from source.mend(source.with_changes([change]), "import", f"`{name}` is taken from `{other}`")


def defined_otherwise(source: Source, name: str) -> Iterator[Mend]:
    """What is asked for by a name is defined by another one: a near one, one of the same words, or the only one."""
    functions = [node.name for node in source.tree.body if isinstance(node, Function | ast.ClassDef)]
    related = [other for other in functions if _shares_words(other, name)]
    public = [other for other in functions if not other.startswith("_")]
    for old in dict.fromkeys([*near(name, _top_names(source)), *related, *(public if len(public) == 1 else ())]):
        if name not in source.names:
            text = re.sub(rf"\b{re.escape(old)}\b", name, source.text)
            yield from source.mend(text, "name", f"`{old}` is called `{name}`")


def _shares_words(one: str, other: str) -> bool:
    """Whether all words of one name are words of the other."""
    left, right = set(one.lower().split("_")), set(other.lower().split("_"))
    return left <= right or right <= left


def _top_names(source: Source) -> list[str]:
    return [name for name in source.names if _defines(source, name)]


def _imported(source: Source, name: str, module: str, new: str) -> list[Change]:
    """The changes that give an imported name another spelling, at its import and where it is used."""
    changes: list[Change] = []
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == module.rpartition(".")[2]:
            for alias in node.names:
                if alias.name == name:
                    line = source.lines[alias.lineno - 1]
                    start = len(line.encode()[: alias.col_offset].decode(errors="replace"))
                    changes.append(Change(alias.lineno, start, start + len(name), new))
    if changes:
        uses = (node for node in source.nodes if isinstance(node, ast.Name) and node.id == name)
        changes += [Change(*source.spot(node, len(name)), new) for node in uses]
    return changes
