"""Attributes that reach into frames, code, classes and modules, and the ways to name one without writing it out."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.classes import COMPARED, OUTCOMES
from nightshift.verdict.checks.hooks.commands import UNKNOWN
from nightshift.verdict.checks.names import Names
from nightshift.verdict.checks.python_calls import shown

_FRAMES = frozenset({
    "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_lineno", "f_lasti", "f_trace", "tb_frame", "tb_next",
    "gi_frame", "cr_frame", "ag_frame", "findCaller", "_getframe", "_current_frames", "_getframemodulename",
})  # fmt: skip
_CODE = frozenset({
    "co_consts", "co_code", "co_lines", "co_positions", "co_linetable", "co_lnotab", "co_exceptiontable",
    "cell_contents", "_co_code_adaptive",
})  # fmt: skip
_INNARDS = frozenset({
    "__subclasses__", "__globals__", "__code__", "__closure__", "__mro__", "__bases__", "__wrapped__", "__defaults__",
    "__kwdefaults__", "gi_code", "cr_code", "ag_code", "tb_lineno", "co_filename", "co_firstlineno",
})  # fmt: skip
_CALL_SITES = frozenset({"pathname", "funcName"})
_WRITTEN = {
    **dict.fromkeys(("__code__", "__closure__", "__defaults__", "__kwdefaults__", "__globals__", "cell_contents"),
                    "python.code-objects"),
    **dict.fromkeys((*COMPARED, "__bases__", "__hash__", "__getattribute__"), "python.patched-method"),
    **dict.fromkeys(("__class__", "__instancecheck__", "__subclasscheck__"), "python.false-class"),
}  # fmt: skip
_GETTERS = frozenset({"builtins.getattr", "builtins.hasattr", "inspect.getattr_static"})
_SETTERS = frozenset({"builtins.setattr", "builtins.delattr"})
_BY_NAME = frozenset({"operator.attrgetter", "operator.methodcaller"})
_OWN_WAYS = frozenset({"__getattribute__", "__getattr__", "__setattr__", "__delattr__"})
_DECODERS = (
    "base64.",
    "binascii.",
    "codecs.decode",
    "builtins.bytes.fromhex",
    "zlib.decompress",
    "urllib.parse.unquote",
)
_TURNED = frozenset({"decode", "translate", "swapcase", "fromhex", "replace", "removeprefix", "removesuffix", "strip"})
_IN_FORMATS = re.compile(r"\{[^{}]*[.\[](__code__|__globals__|__closure__|__builtins__|__subclasses__|f_back|f_locals|"
                         r"f_globals|gi_frame|cr_frame|tb_frame|co_consts)\b")  # fmt: skip
_CALL_SITE_FORMATS = re.compile(r"%\((?:pathname|lineno|funcName)\)|\{(?:record\.)?(?:pathname|lineno|funcName)\b")
_MOST_CHARS = 10_000
_CLASS_MAKERS = frozenset({"builtins.type", "types.new_class", "dataclasses.make_dataclass", "builtins.type.__new__"})
_FUNCTION_MAKERS = frozenset({"types.FunctionType", "types.CodeType", "types.CellType", "types.MethodWrapperType"})


def rule_of(name: str, *, written: bool = False) -> str | None:
    """The rule that an attribute of this name belongs to."""
    if written and name in _WRITTEN:
        return _WRITTEN[name]
    for rule, group in (("python.frames", _FRAMES), ("python.code-objects", _CODE),
                        ("python.introspection", _INNARDS), ("python.call-site", _CALL_SITES)):  # fmt: skip
        if name in group:
            return rule
    return None


def look(names: Names) -> Iterator[Finding]:
    """What stands out among the attributes of a module, however they are named."""
    logs = bool({"logging", "warnings"} & {full.partition(".")[0] for full in names.aliases.values()})
    inner = {id(child) for node in names.nodes if isinstance(node, ast.BinOp) for child in (node.left, node.right)}
    for node in names.nodes:
        match node:
            case ast.Attribute():
                yield from _attribute(node, logs=logs)
            case ast.Call():
                yield from _call(node, names)
            case ast.Subscript(value=value, slice=key, ctx=context):
                yield from _item(value, key, names, written=not isinstance(context, ast.Load))
            case ast.MatchClass(kwd_attrs=wanted):
                for name in wanted:
                    yield from _at(node.cls, rule_of(name), name)
            case ast.Dict(keys=keys, values=values):
                yield from _table(keys, values, names)
            case ast.Assign(targets=targets, value=value):
                yield from _renamed(targets, value, names)
            case ast.Constant() | ast.BinOp() | ast.JoinedStr() if id(node) not in inner:
                yield from _text(node, names)


def _attribute(node: ast.Attribute, *, logs: bool) -> Iterator[Finding]:
    rule = rule_of(node.attr, written=not isinstance(node.ctx, ast.Load))
    if rule is None and node.attr == "lineno" and logs:
        rule = "python.call-site"
    yield from _at(node, rule, f".{node.attr}")


def _text(node: ast.expr, names: Names) -> Iterator[Finding]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) < _MOST_CHARS:
            yield from _format(node, node.value)
    elif (text := names.text(node)) in _WRITTEN or rule_of(text) or text == "PYTEST_CURRENT_TEST":
        yield Finding("python.hidden-name", node.lineno, f"`{_short(node)}`")


def _at(node: ast.expr, rule: str | None, name: str) -> Iterator[Finding]:
    if rule:
        yield Finding(rule, node.lineno, f"`{name}`")


def _format(node: ast.Constant, text: str) -> Iterator[Finding]:
    """`"{0.__code__}".format(f)` reads attributes too, and a log's format may name the place of a call."""
    if text in COMPARED:
        yield Finding("python.dynamic-class", node.lineno, f"`{text!r}`")
    elif _IN_FORMATS.search(text):
        yield Finding("python.hidden-name", node.lineno, f"`{text[:50]!r}`")
    elif _CALL_SITE_FORMATS.search(text):
        yield Finding("python.call-site", node.lineno, f"`{text[:50]!r}`")


def _call(node: ast.Call, names: Names) -> Iterator[Finding]:
    target = names.resolve(node.func) or ""
    if target in _GETTERS | _SETTERS and len(node.args) > 1:
        yield from _named(node.args[1], names, written=target in _SETTERS)
    elif target in _BY_NAME and node.args:
        for arg in node.args if target == "operator.attrgetter" else node.args[:1]:
            yield from _named(arg, names, written=False)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _OWN_WAYS:
        for arg in node.args[:2]:
            yield from _named(arg, names, written="set" in node.func.attr)
    if target in _FUNCTION_MAKERS or (isinstance(node.func, ast.Call) and _is_lambda_type(node.func, names)):
        yield Finding("python.code-objects", node.lineno, f"`{_short(node)}`")
    for keyword in node.keywords:
        in_code = "python.code-objects" if keyword.arg in _CODE else None
        rule = "python.patched-method" if keyword.arg in COMPARED else in_code
        yield from _at(node, "python.call-site" if keyword.arg == "stack_info" else rule, f"{keyword.arg}=")
    yield from _class_made(node, target, names)


def _class_made(node: ast.Call, target: str, names: Names) -> Iterator[Finding]:
    """A class that is made by a call."""
    made = target in _CLASS_MAKERS and len(node.args) > 1
    if made:
        yield Finding("python.dynamic-class", node.lineno, f"`{_short(node)}`")
    if len(node.args) > 1 and (made or isinstance(node.args[1], ast.Tuple)):
        text = names.text(node.args[0])
        if text.casefold() in OUTCOMES:
            yield Finding("python.outcome-name", node.lineno, f"`{_short(node)}`")


def _is_lambda_type(func: ast.Call, names: Names) -> bool:
    """`type(lambda: 0)(…)` makes a function of a code object."""
    return names.resolve(func.func) == "builtins.type" and len(func.args) == 1 and isinstance(func.args[0], ast.Lambda)


def _item(value: ast.expr, key: ast.expr, names: Names, *, written: bool) -> Iterator[Finding]:
    """An attribute through a table: `f.__dict__["x"]`, `vars(f)["x"]`; a class's table while it is made."""
    text = names.text(key)
    if written and text in COMPARED:
        yield Finding("python.patched-method", value.lineno, f"`[{text!r}] = …`")
        return
    own = isinstance(value, ast.Call) and names.resolve(value.func) in {"builtins.vars", "builtins.locals"}
    if own or (isinstance(value, ast.Attribute) and value.attr == "__dict__"):
        yield from _named(key, names, written=written)
        if written and isinstance(value, ast.Call) and not value.args:
            yield Finding("python.dynamic-class", value.lineno, f"`{_short(value)}[…] = …`")


def _named(node: ast.expr, names: Names, *, written: bool) -> Iterator[Finding]:
    """An attribute whose name is given as a text."""
    text = names.text(node)
    if UNKNOWN in text:
        if _is_turned(node, names) or any(rule_of(part, written=written) for part in text.split(".")):
            yield Finding("python.hidden-name", node.lineno, f"`{_short(node)}`")
        elif "__" in text or text.startswith(("f_", "tb_", "co_", "gi_")):
            yield Finding("python.dynamic-class", node.lineno, f"`{_short(node)}`")
        return
    for part in text.split("."):
        if rule := rule_of(part, written=written):
            hidden = not isinstance(node, ast.Constant)
            yield Finding("python.hidden-name" if hidden else rule, node.lineno, f"`{part}`")


def _is_turned(node: ast.expr, names: Names, depth: int = 0) -> bool:
    """Whether a text is decoded or rearranged, so that it cannot be read where it stands."""
    if depth > 4:
        return False
    if isinstance(node, ast.Name) and (value := names.value_of(node.id)) is not None:
        return _is_turned(value, names, depth + 1)
    for inner in itertools.islice(ast.walk(node), 200):
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr=attr)) if attr in _TURNED:
                return True
            case ast.Call(func=ast.Attribute(attr="decode" | "fromhex" | "translate")):
                return True
            case ast.Call(func=func) if (names.resolve(func) or "").startswith(_DECODERS):
                return True
            case ast.Name(id="chr") | ast.Slice(step=ast.UnaryOp(op=ast.USub())):
                return True
    return False


def _table(keys: list[ast.expr | None], values: list[ast.expr], names: Names) -> Iterator[Finding]:
    """A table of methods for comparing, from which a class can be made."""
    for key, value in zip(keys, values, strict=True):
        if key is not None and names.text(key) in COMPARED:
            rule = "python.patched-method" if isinstance(value, ast.Lambda | ast.Name) else "python.dynamic-class"
            yield Finding(rule, key.lineno, f"`{{{names.text(key)!r}: …}}`")


def _renamed(targets: list[ast.expr], value: ast.expr, names: Names) -> Iterator[Finding]:
    """`Error.__name__ = "passed"`."""
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr in {"__name__", "__qualname__"}:
            text = names.text(value)
            if text.casefold() in OUTCOMES:
                yield Finding("python.outcome-name", target.lineno, f"`.{target.attr} = {text!r}`")
            elif UNKNOWN in text and not isinstance(value, ast.Attribute):
                yield Finding("python.dynamic-class", target.lineno, f"`.{target.attr} = …`")


def _short(node: ast.AST) -> str:
    text = shown(node)
    return text if len(text) <= 60 else text[:59] + "…"
