"""Reads JavaScript and TypeScript on the syntax tree and says what stands out; strings and comments are no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from checks import javascript_reaching, javascript_values
from checks.hooks.commands import UNKNOWN, Command
from checks.hooks.places import outside, private
from checks.javascript_names import Names
from checks.python import MAX_CHARS, Hooks
from checks.sighting import Sighting
from core import javascript

if TYPE_CHECKING:
    from tree_sitter import Node

_SHELL_CALLS = frozenset({"child_process.exec", "child_process.execSync"})
_WORD_CALLS = frozenset({"child_process.spawn", "child_process.spawnSync", "child_process.execFile",
                         "child_process.execFileSync", "child_process.fork", "cluster.fork"})  # fmt: skip
_CALLS = {
    "eval": "js.eval",
    "Function": "js.function-constructor",
    "process.reallyExit": "js.hard-exit",
    "process.abort": "js.hard-exit",
    "process.exit": "js.exit",
    "net.connect": "js.network",
    "net.createConnection": "js.network",
    "net.createServer": "js.network",
    "net.Socket": "js.network",
    "dgram.createSocket": "js.network",
    "tls.connect": "js.network",
    "tls.createServer": "js.network",
    "http.createServer": "js.network",
    "https.createServer": "js.network",
    "http2.createServer": "js.network",
}
_VM = frozenset(f"vm.{name}" for name in ("runInThisContext", "runInNewContext", "runInContext", "Script",
                                          "compileFunction", "SourceTextModule"))  # fmt: skip
_REMOVERS = frozenset({"rm", "rmSync", "rmdir", "rmdirSync", "unlink", "unlinkSync"})
_READERS = frozenset({"readFile", "readFileSync", "createReadStream", "open", "openSync", "copyFile", "copyFileSync"})
_NATIVE_MODULES = frozenset({"ffi-napi", "ffi", "koffi", "bindings", "node-gyp-build", "v8", "inspector"})


def scan(path: str, text: str, hooks: Hooks, *, is_test: bool = False) -> list[Sighting]:
    """What stands out in a module.

    Args:
        path: its ending tells the language.
        text: the module.
        hooks: what commands are held against.
        is_test: it is a test, which may know that it is one.
    """
    if len(text) > MAX_CHARS:
        return []
    nodes = list(javascript.walk(javascript.parse(path, text)))
    names = Names(nodes)
    reader = _Reader(names, hooks, is_test=is_test)
    found = (
        *(seen for node in nodes for seen in reader.read(node)),
        *javascript_values.look(nodes, names),
        *javascript_reaching.look(nodes, names, is_test=is_test),
    )
    return list(dict.fromkeys(found))


class _Reader:
    def __init__(self, names: Names, hooks: Hooks, *, is_test: bool) -> None:
        self._names, self._hooks, self._is_test = names, hooks, is_test

    def read(self, node: Node) -> Iterator[Sighting]:
        match node.type:
            case "call_expression" | "new_expression":
                yield from self._call(node)
            case "import_statement":
                yield from self._module(node, javascript.literal(node.child_by_field_name("source")))
            case "spread_element":
                yield from self._environment(node, node.named_children[0] if node.named_children else None)
            case "for_in_statement":
                yield from self._environment(node, node.child_by_field_name("right"))
            case "member_expression" | "subscript_expression":
                yield from self._member(node)

    def _call(self, node: Node) -> Iterator[Sighting]:
        function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        target = self._names.resolve(function) or ""
        arguments = javascript.arguments(node)
        for rule in self._rules(target, function, arguments):
            yield _at(node, rule, target)
        for seen in self._hooks(self._commands(target, arguments)):
            yield replace(seen, line=node.start_point.row + 1)
        if target in {"require", "process.getBuiltinModule"} or (function and function.type == "import"):
            yield from self._loaded(node, arguments)
        if target in {"Object.entries", "Object.keys", "Object.values", "Object.assign", "JSON.stringify"}:
            yield from self._environment(node, arguments[-1] if arguments else None)

    def _rules(self, target: str, function: Node | None, arguments: list[Node]) -> Iterator[str]:
        if target in _CALLS:
            yield _CALLS[target]
        elif target in _VM:
            yield "js.vm"
        elif target in _SHELL_CALLS or (target in _WORD_CALLS and self._asks_for_shell(arguments)):
            yield "js.child-process-shell"
        elif target in _WORD_CALLS:
            yield "js.child-process"
        elif _makes_function(target, function, arguments):
            yield "js.function-constructor"
        if target == "process.kill" and arguments and "process.pid" in javascript.said(arguments[0]):
            yield "js.hard-exit"
        yield from self._of_files(target, arguments)

    def _of_files(self, target: str, arguments: list[Node]) -> Iterator[str]:
        module, _, name = target.rpartition(".")
        if module not in {"fs", "fs.promises", "fs/promises"} or not arguments:
            return
        path = self._names.text(arguments[0])
        if name in _REMOVERS and outside(path):
            yield "js.delete-outside"
        if name in _READERS and private(path):
            yield "js.private-file"

    def _asks_for_shell(self, arguments: list[Node]) -> bool:
        return any("shell" in javascript.said(one) and "shell: false" not in javascript.said(one)
                   for one in arguments if one.type == "object")  # fmt: skip

    def _commands(self, target: str, arguments: list[Node]) -> list[Command]:
        first = self._names.text(arguments[0]) if arguments else UNKNOWN
        if first == UNKNOWN:
            return []
        if target in _SHELL_CALLS or (target in _WORD_CALLS and self._asks_for_shell(arguments)):
            return [Command(argv=("sh", "-c", first))]
        if target in _WORD_CALLS:
            words = arguments[1].named_children if len(arguments) > 1 and arguments[1].type == "array" else []
            return [Command(argv=(first, *(self._names.text(word) for word in words)))]
        return []

    def _loaded(self, node: Node, arguments: list[Node]) -> Iterator[Sighting]:
        module = self._names.text(arguments[0]) if arguments else UNKNOWN
        if UNKNOWN in module:
            yield _at(node, "js.dynamic-import", "")
        else:
            yield from self._module(node, module)

    def _module(self, node: Node, name: str | None) -> Iterator[Sighting]:
        if name in {"node:test", "node:test/reporters"} and not self._is_test:
            yield _at(node, "js.test-detection", f"import of {name} outside of tests")
        if (name or "").removeprefix("node:").partition("/")[0] in _NATIVE_MODULES:
            yield _at(node, "js.native", f"import of {name}")

    def _member(self, node: Node) -> Iterator[Sighting]:
        if self._is_test:
            return
        text = self._names.resolve(node) or ""
        if text.startswith(("process.env.NODE_TEST", "process.env.JEST_WORKER", "process.env.VITEST")):
            yield _at(node, "js.test-detection", text)

    def _environment(self, node: Node, whole: Node | None) -> Iterator[Sighting]:
        if whole and self._names.resolve(whole) == "process.env":
            yield _at(node, "js.environment", "process.env")


def _makes_function(target: str, function: Node | None, arguments: list[Node]) -> bool:
    """`(() => {}).constructor("…")`: every function's constructor is `Function`."""
    named = target.endswith(".constructor") or (not target and _is_constructor(function))
    return named and bool(arguments) and arguments[-1].type in {*javascript.STRINGS, "binary_expression", "identifier"}


def _is_constructor(function: Node | None) -> bool:
    if function is None or function.type != "member_expression":
        return False
    return javascript.said(function.child_by_field_name("property")) == "constructor"


def _at(node: Node, rule: str, what: str) -> Sighting:
    # Only the beginning: nested calls would be written out again at each level.
    said = " ".join(javascript.said(node).split()) if node.end_byte - node.start_byte < 400 else "…" * 61
    shown = said if len(said) <= 60 else (f"{what}(…)" if what else said[:59] + "…")
    return Sighting(rule, node.start_point.row + 1, f"`{shown}`")
