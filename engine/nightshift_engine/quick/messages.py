"""Fixes that the interpreter's message nearly names: of imports, of misspelt names, and of the number of arguments.

They cover missing or misspelt imports; misspelt names, attributes, keys and keywords, with Python's own suggestions
first; and calls with too many or too few arguments, a missing `self`, and a misspelt `__init__`.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import ModuleType

from nightshift_engine.evaluation import ErrorInfo
from nightshift_engine.quick.fix import Change, QuickFix, Source, indent_of, near, place_of
from nightshift_engine.tree import Function

_OFFERING = (
    "collections", "functools", "itertools", "dataclasses", "pathlib", "typing", "math", "datetime", "enum", "abc",
    "heapq", "bisect", "re", "json", "random", "statistics", "string", "operator", "copy", "decimal", "fractions",
    "contextlib", "time", "os", "sys", "io", "types", "textwrap", "collections.abc", "shutil", "tempfile", "logging",
    "threading", "queue", "uuid", "hashlib", "csv", "argparse", "subprocess", "concurrent.futures", "asyncio",
)  # fmt: skip
"""Modules whose import has no side effects. If two offer the same name, the first one is preferred."""
_BY_MODULE_NAME = frozenset(
    {"os", "sys", "time", "operator", "shutil", "random", "string", "re", "types", "subprocess", "asyncio"}
)
"""Modules that are mostly used by their own name; their members are offered only after those of other modules."""


def is_standard(module: str) -> bool:
    """Check whether a module belongs to the standard library and is one that programs import."""
    return module in sys.stdlib_module_names and not module.startswith("_") and module not in {"this", "antigravity"}


def module_names() -> list[str]:
    """List the modules of the standard library."""
    return sorted(name for name in sys.stdlib_module_names if is_standard(name))


@lru_cache(maxsize=64)
def listing(module: str) -> tuple[str, ...]:
    """Return the public names of a well-known module, without submodules; empty for any other module."""
    if module not in _OFFERING:
        return ()
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [name for name in dir(loaded) if not name.startswith("_")]
    return tuple(name for name in names if not isinstance(getattr(loaded, name, None), ModuleType))


@lru_cache(maxsize=512)
def modules_of(name: str) -> tuple[str, ...]:
    """Return the well-known modules that offer a name, the likeliest first."""
    modules = [module for module in _OFFERING if name in listing(module)]
    return tuple(sorted(modules, key=lambda module: module in _BY_MODULE_NAME))


_UNKNOWN_NAME = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_MOST = 3


def missing_imports(test: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield imports for a NameError: from another file of the tree, or from the standard library."""
    match = _UNKNOWN_NAME.search(error.message)
    location = place_of(test, error, files)
    if error.kind != "NameError" or match is None or location is None:
        return
    name, (source, _) = match.group(1), location
    for module, part in _offers(name, source, files):
        text = with_import(source, module, part)
        yield from source.fix(text, "import", f"`{_statement(module, part)}` is put in")


def _offers(name: str, source: Source, files: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a module and the name to import from it; an empty name means the module itself."""
    own = [(module_of(path), name) for path, other in files.items() if other is not source and _defines(other, name)]
    yield from own[:_MOST]
    modules = [(name, "")] if is_standard(name) or any(module_of(path) == name for path in files) else []
    parts = [(module, name) for module in modules_of(name)[:_MOST]]
    yield from [*modules, *parts] if modules and _is_used_as_module(source, name) else [*parts, *modules]


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


def _is_used_as_module(source: Source, name: str) -> bool:
    """Check whether all attributes that the file reads from a name are attributes of the module with this name.

    A file that calls `datetime.now()` fails the check, because the module `datetime` has no attribute `now`.
    """
    used = [node for node in source.nodes if isinstance(node, ast.Attribute)]
    attributes = {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == name}
    offered = listing(name)
    return bool(attributes) and (not offered or attributes <= {*offered, "path", "abc"})


def module_of(path: str) -> str:
    """Return the dotted name by which a file is imported; a leading folder `src` is not part of it."""
    parts = path.removesuffix(".py").split("/")
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _statement(module: str, part: str) -> str:
    return f"from {module} import {part}" if part else f"import {module}"


def with_import(source: Source, module: str, part: str) -> str:
    """Return the text with an import added.

    The name is added to an import of the same module if there is one. Otherwise a new import follows the present
    imports, the docstring or the first comments.
    """
    body = source.tree.body
    same = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == module and not node.level]
    lines = list(source.lines)
    for node in same:
        line = lines[node.lineno - 1]
        if part and node.lineno == node.end_lineno and "(" not in line and "#" not in line and "*" not in line:
            lines[node.lineno - 1] = _extend(node, part) + line[len(line.rstrip()) :]
            return "\n".join(lines)
    at, alone = _find_import_line(source, bool(part))
    new = [_statement(module, part)]
    if alone and at < len(lines) and lines[at].strip():
        new += [""] if not _opens_block(body) else ["", ""]
    if alone and at and lines[at - 1].strip():
        new = ["", *new]
    end = "\r" if "\r\n" in source.text else ""
    return "\n".join([*lines[:at], *(line + end for line in new), *lines[at:]])


def _extend(node: ast.ImportFrom, part: str) -> str:
    """Return the import with one more name, sorted if the names were sorted."""
    texts = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in node.names]
    grown = [*texts, part]
    return f"from {node.module} import {', '.join(sorted(grown) if texts == sorted(texts) else grown)}"


def _opens_block(body: list[ast.stmt]) -> bool:
    first = next((node for node in body if not _is_docstring(node)), None)
    return isinstance(first, Function | ast.ClassDef)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _find_import_line(source: Source, wants_from: bool) -> tuple[int, bool]:
    """Return the index of the line before which to add an import, and whether the import starts a block of its own.

    Imports further down, in an `if` or after code, are ignored.
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


def misspelt_imports(_: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield fixes for the name of a module, or for an imported name, that resembles an existing name."""
    lost = _NO_MODULE.search(error.message)
    if lost and error.kind == "ModuleNotFoundError":
        yield from _other_module(lost.group(1), files)
    named = _NO_NAME.search(error.message)
    if named and error.kind == "ImportError":
        yield from _other_name(named.group(1), named.group(2), files)


def _other_module(lost: str, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    modules = [module_of(path) for path in files]
    for source in files.values():
        for new in near(lost, [*modules, *(part.partition(".")[0] for part in modules), *module_names()]):
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
            yield from source.fix(source.with_changes([*changes, *uses]), "import", f"`{lost}` becomes `{new}`")
            yield from source.fix(source.with_changes(changes), "import", f"`{lost}` becomes `{new}`")


def _begins(module: str, lost: str) -> bool:
    return module == lost or module.startswith(lost + ".")


def _other_name(name: str, module: str, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield fixes that import a similar name, rename a definition to the imported one, or use another module."""
    target = next((source for path, source in files.items() if module_of(path) == module), None)
    offered = _top_names(target) if target else listing(module)
    for new in near(name, offered):
        for source in files.values():
            changes = _respell_import(source, name, module, new)
            yield from source.fix(source.with_changes(changes), "import", f"`{name}` becomes `{new}`")
    if target is not None:
        yield from rename_definition(target, name)
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
                    yield from source.fix(source.with_changes([change]), "import", f"`{name}` is taken from `{other}`")


def rename_definition(source: Source, name: str) -> Iterator[QuickFix]:
    """Yield fixes that rename a definition to the wanted name.

    The definition has a similar name or a name with the same words, or it is the only public one of the file.
    """
    functions = [node.name for node in source.tree.body if isinstance(node, Function | ast.ClassDef)]
    related = [other for other in functions if _shares_words(other, name)]
    public = [other for other in functions if not other.startswith("_")]
    for old in dict.fromkeys([*near(name, _top_names(source)), *related, *(public if len(public) == 1 else ())]):
        if name not in source.names:
            text = re.sub(rf"\b{re.escape(old)}\b", name, source.text)
            yield from source.fix(text, "name", f"`{old}` is called `{name}`")


def _shares_words(name: str, other: str) -> bool:
    """Check whether all words of one name are words of the other."""
    left, right = set(name.lower().split("_")), set(other.lower().split("_"))
    return left <= right or right <= left


def _top_names(source: Source) -> list[str]:
    return [name for name in source.names if _defines(source, name)]


def _respell_import(source: Source, name: str, module: str, new: str) -> list[Change]:
    """Return the changes that replace an imported name at its import and at all its uses."""
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


_MISSPELT = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'")
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


def misspelt(test: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield fixes for names that do not exist, depending on the exception."""
    location = place_of(test, error, files)
    if error.kind in {"NameError", "UnboundLocalError"} and location:
        yield from _names(*location, error)
    elif error.kind == "AttributeError":
        yield from _attributes(location, error, files)
    elif error.kind == "KeyError" and location:
        yield from _keys(*location, error)
    elif error.kind == "TypeError":
        yield from _keywords(location, error, files)


def _read_suggestions(message: str) -> list[str]:
    """Return the names that Python's message suggests."""
    return _MEANT.findall(message)


def _names(source: Source, line: int, error: ErrorInfo) -> Iterator[QuickFix]:
    match = _MISSPELT.search(error.message)
    if match is None:
        return
    name = match.group(1) or match.group(2)
    uses = [node for node in source.nodes if isinstance(node, ast.Name) and node.id == name]
    here = [node for node in uses if node.lineno == line]
    if error.kind == "UnboundLocalError":
        uses = here
    names = [*_visible(source, line), *source.names, *dir(builtins)]
    options = [*_read_suggestions(error.message), *filter(None, [_OTHER_WORDS.get(name)]), *near(name, names)]
    for new in dict.fromkeys(options):
        yield from source.rename(uses, name, new, "name")
        if len(here) < len(uses):
            yield from source.rename(here, name, new, "name")
    stored = [node for node in source.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for node in stored:
        if node.id in near(name, [node.id]) and not _is_read(source, node.id):
            yield from source.rename([node], node.id, name, "name")


def _is_read(source: Source, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in source.nodes
    )


def _visible(source: Source, line: int) -> list[str]:
    """Return the names that the function around a line binds, which are likelier than the other names of the file."""
    function = source.function_at(line)
    if function is None:
        return []
    nodes = list(ast.walk(function))
    arguments = [node.arg for node in nodes if isinstance(node, ast.arg)]
    return [*arguments, *(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))]


def _attributes(
    location: tuple[Source, int] | None, error: ErrorInfo, files: Mapping[str, Source]
) -> Iterator[QuickFix]:  # fmt: skip
    match = _NO_ATTRIBUTE.search(error.message)
    if match is None:
        return
    owner, lost = match.group(1) or match.group(2) or match.group(3), match.group(4)
    if location is not None:
        source, line = location
        nodes = [node for node in source.nodes if isinstance(node, ast.Attribute) and node.attr == lost]
        here = [node for node in nodes if line in {node.lineno, node.end_lineno}] or nodes
        for new in _near_attributes(owner, lost, error, files):
            changes = [Change(*source.attribute_spot(node), new) for node in here]
            yield from source.fix(source.with_changes(changes), "attribute", f"`.{lost}` becomes `.{new}`")
    yield from _rename_definition(owner, lost, files)


def _near_attributes(owner: str, lost: str, error: ErrorInfo, files: Mapping[str, Source]) -> list[str]:
    options = _read_suggestions(error.message)
    kind = _BUILTIN.get(owner)
    if kind is not None:
        other = _OTHER_METHODS.get(lost)
        methods = [name for name in dir(kind) if not name.startswith("_")]
        return list(dict.fromkeys([*options, *([other] if other in methods else []), *near(lost, methods)]))
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


def _rename_definition(owner: str, lost: str, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield fixes that rename a similarly named definition, and all its uses, to the name that the tests ask for."""
    for path, source in files.items():
        if module_of(path) == owner:
            yield from rename_definition(source, lost)
        for node in source.nodes:
            names = _of_class(node) if isinstance(node, ast.ClassDef) and node.name == owner else []
            for old in near(lost, names):
                text = re.sub(rf"\b{re.escape(old)}\b", lost, source.text)
                yield from source.fix(text, "attribute", f"`{old}` is called `{lost}`")


def _keys(source: Source, line: int, error: ErrorInfo) -> Iterator[QuickFix]:
    try:
        lost = ast.literal_eval(error.message.strip())
    except (ValueError, SyntaxError):
        return
    texts = [node for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    here = [node for node in texts if node.lineno == line and node.value == lost]
    keys = [node.value for node in texts if isinstance(node.value, str) and node.value != lost]
    for new in near(lost, keys) if isinstance(lost, str) else ():
        for node in here:
            spot = source.spot(node, len(repr(lost)))
            change = Change(*spot, repr(new) if "'" in source.lines[line - 1][spot[1] :][:1] else f'"{new}"')
            yield from source.fix(source.with_changes([change]), "key", f"`{lost!r}` becomes `{new!r}`")


def _keywords(
    location: tuple[Source, int] | None, error: ErrorInfo, files: Mapping[str, Source]
) -> Iterator[QuickFix]:  # fmt: skip
    match = _NO_KEYWORD.search(error.message)
    if match is None:
        return
    name, lost = match.groups()
    for source in files.values():
        for function in (node for node in source.nodes if _is_called(node, name)):
            parameters = [node for node in ast.walk(function) if isinstance(node, ast.arg)]
            for new in near(lost, [node.arg for node in parameters]):
                if location is not None:
                    yield from _at_call(location[0], location[1], lost, new)
                nodes = [node for node in ast.walk(function) if _is_named(node, new)]
                yield from source.rename(nodes, new, lost, "keyword")  # type: ignore[arg-type] # see _is_named


def _is_called(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name == name
    return isinstance(node, Function) and node.name == name


def _is_named(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.arg) and node.arg == name)


def _at_call(source: Source, line: int, lost: str, new: str) -> Iterator[QuickFix]:
    for node in source.nodes:
        if isinstance(node, ast.keyword) and node.arg == lost and node.lineno == line:
            change = Change(*source.spot(node, len(lost)), new)
            yield from source.fix(source.with_changes([change]), "keyword", f"`{lost}=` becomes `{new}=`")


# The functions below fix the number of arguments of a call or a function.


_TOO_MANY = re.compile(
    r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given"
)
_TOO_FEW = re.compile(r"([\w.<>]+)\(\) missing \d+ required positional arguments?: (.*)")
_NO_ARGUMENTS = re.compile(r"(\w+)\(\) takes no arguments")
_BARE = frozenset({"staticmethod", "classmethod"})


def arity(test: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    """Yield fixes that use the interpreter's count of arguments, and fixes that add a missing `self.`."""
    location = place_of(test, error, files)
    if error.kind == "NameError" and location is not None:
        yield from _own(*location, error)
    if error.kind != "TypeError":
        return
    many, few, none = (pattern.search(error.message) for pattern in (_TOO_MANY, _TOO_FEW, _NO_ARGUMENTS))
    for source in files.values():
        if many:
            yield from _without_self(source, many.group(1))
        if none:
            yield from _initialiser(source, none.group(1))
    if location is not None and many:
        yield from _shorter(*location, many.group(1).rpartition(".")[2])
    if location is not None and few:
        yield from _longer(*location, few.group(1).rpartition(".")[2], re.findall(r"'(\w+)'", few.group(2)))


def _own(source: Source, line: int, error: ErrorInfo) -> Iterator[QuickFix]:
    """Replace `x` by `self.x`, or add the parameter `self` to a method that uses `self` without having it."""
    match = _UNKNOWN_NAME.search(error.message)
    owner, function = source.class_at(line), source.function_at(line)
    if match is None or owner is None or function is None:
        return
    name = match.group(1)
    if name == "self":
        yield from _add_self(source, function)
    arguments = [*function.args.posonlyargs, *function.args.args]
    if arguments and name in _members_of(owner) and not _is_bare(function):
        first = arguments[0].arg
        uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
        changes = [Change(*source.spot(node, len(name)), f"{first}.{name}") for node in uses]
        yield from source.fix(source.with_changes(changes), "self", f"`{name}` becomes `{first}.{name}`")


def _members_of(owner: ast.ClassDef) -> set[str]:
    fields = {
        node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    methods = {node.name for node in owner.body if isinstance(node, Function)}
    values = {part.id for node in owner.body if isinstance(node, ast.Assign | ast.AnnAssign) for part in ast.walk(node)
              if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}  # fmt: skip
    return fields | methods | values


def _is_bare(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _BARE for node in function.decorator_list)


def _without_self(source: Source, qualified: str) -> Iterator[QuickFix]:
    """Add `self` to a method that was defined without it, or make the method static."""
    owner, _, name = qualified.rpartition(".")
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or (owner and node.name != owner.rpartition(".")[2]):
            continue
        for function in node.body:
            if isinstance(function, Function) and function.name == name and not _is_bare(function):
                arguments = [*function.args.posonlyargs, *function.args.args]
                if not arguments or arguments[0].arg not in {"self", "cls"}:
                    yield from _add_self(source, function)
                    line = source.lines[function.lineno - 1]
                    mark = f"{indent_of(line)}@staticmethod\n"
                    text = source.with_changes([Change(function.lineno, 0, 0, mark)])
                    yield from source.fix(text, "self", f"`{name}` becomes a static method")


def _add_self(source: Source, function: Function) -> Iterator[QuickFix]:
    line = source.lines[function.lineno - 1]
    match = re.search(rf"def\s+{re.escape(function.name)}\s*\(\s*", line)
    if match:
        arguments = function.args
        alone = not any(
            (arguments.posonlyargs, arguments.args, arguments.vararg, arguments.kwonlyargs, arguments.kwarg)
        )
        change = Change(function.lineno, match.end(), match.end(), "self" if alone else "self, ")
        yield from source.fix(source.with_changes([change]), "self", f"`{function.name}` gets its `self`")


def _initialiser(source: Source, owner: str) -> Iterator[QuickFix]:
    """Rename a misspelt `__init__`."""
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or node.name != owner:
            continue
        for function in node.body:
            word = function.name.strip("_") if isinstance(function, Function) else ""
            if isinstance(function, Function) and word in {"init", "int", "initialize", "constructor", "inti", "init_"}:
                line = source.lines[function.lineno - 1]
                start = line.find(function.name)
                change = Change(function.lineno, start, start + len(function.name), "__init__")
                yield from source.fix(source.with_changes([change]), "name", f"`{function.name}` becomes `__init__`")


def _calls(source: Source, line: int, name: str) -> Iterator[ast.Call]:
    """Yield the calls of a function at a line; if the function is `__init__`, yield all calls at the line."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {called, "__init__"}:
                yield node


def _shorter(source: Source, line: int, name: str) -> Iterator[QuickFix]:
    """Drop one argument of a call."""
    for call in _calls(source, line, name):
        for index in reversed(range(len(call.args))):
            arguments = [*call.args[:index], *call.args[index + 1 :]]
            yield from _recall(source, call, ast.Call(func=call.func, args=arguments, keywords=call.keywords))


def _longer(source: Source, line: int, name: str, missing: list[str]) -> Iterator[QuickFix]:
    """Add the missing arguments to a call, if variables with the parameters' names are visible."""
    function = source.function_at(line)
    if function is None or not missing:
        return
    visible = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    visible |= {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    if not set(missing) <= visible:
        return
    added: list[ast.expr] = [ast.Name(id=text, ctx=ast.Load()) for text in missing]
    for call in _calls(source, line, name):
        new = ast.Call(func=call.func, args=[*call.args, *added], keywords=call.keywords)
        yield from _recall(source, call, new)


def _recall(source: Source, old: ast.Call, new: ast.Call) -> Iterator[QuickFix]:
    if old.lineno != old.end_lineno:
        return
    text = ast.unparse(new)
    line, start, _ = source.spot(old, 0)
    end = len(source.lines[line - 1].encode()[: old.end_col_offset].decode(errors="replace"))
    changed = source.with_changes([Change(line, start, end, text)])
    yield from source.fix(changed, "arity", f"`{ast.unparse(old)}` becomes `{text}`")
