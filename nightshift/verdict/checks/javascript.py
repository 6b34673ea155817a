"""Finds suspicious code in the syntax trees of JavaScript and TypeScript; strings and comments do not count as code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from nightshift.core.code import javascript
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command, outside, private
from nightshift.verdict.checks.javascript_names import Names
from nightshift.verdict.checks.python import MAX_CHARS, Hooks

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
    "process.binding": "js.native",
    "process._linkedBinding": "js.native",
    "process.dlopen": "js.native",
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
_NATIVE_MODULES = frozenset({"ffi-napi", "ffi", "koffi", "bindings", "node-gyp-build", "v8", "inspector", "repl",
                             "wasi"})  # fmt: skip
# Modules of Node.js, and globals. Replacing a member of one of them changes it for all code.
_NODE = frozenset({"fs", "path", "util", "events", "stream", "buffer", "timers", "child_process", "module", "test",
                   "perf_hooks", "assert", "assert/strict", "fs/promises", "url", "worker_threads", "os",
                   "vm"})  # fmt: skip
_GLOBALS = frozenset({
    "Object", "Array", "String", "Number", "Boolean", "BigInt", "Function", "Promise", "JSON", "Math", "Date", "RegExp",
    "Map", "Set", "WeakMap", "WeakSet", "Symbol", "Error", "TypeError", "Reflect", "Proxy", "Intl", "Buffer", "process",
    "ArrayBuffer", "Uint8Array", "structuredClone", "queueMicrotask", "globalThis", "assert", "Iterator", "setTimeout",
    "setInterval", "setImmediate", "console", "performance",
})  # fmt: skip
_FREE = ("process.exitCode", "process.title", "process.env", "Error.stackTraceLimit", "module.exports")
_DEFINERS = frozenset({"Object.defineProperty", "Object.defineProperties", "Object.assign", "Object.setPrototypeOf",
                       "Reflect.set", "Reflect.defineProperty", "Reflect.setPrototypeOf"})  # fmt: skip


def scan(path: str, text: str, hooks: Hooks, *, is_test: bool = False) -> list[Finding]:
    """List the suspicious code of a module.

    Args:
        path: the module's path; its extension selects the language.
        text: the module's text.
        hooks: returns the findings for commands that must not run.
        is_test: true for a test. Code that is no test must not detect that it is being tested.
    """
    if len(text) > MAX_CHARS:
        return []
    nodes = list(javascript.walk(javascript.parse(path, text)))
    reader = _Reader(nodes, hooks, is_test=is_test)
    return list(dict.fromkeys(seen for node in nodes for seen in reader.read(node)))


class _Reader:
    def __init__(self, nodes: list[Node], hooks: Hooks, *, is_test: bool) -> None:
        self._names, self._hooks, self._is_test = Names(nodes), hooks, is_test
        # Classes and functions of the module, which may have the name of a global.
        self._own = {javascript.node_text(node.child_by_field_name("name")) for node in nodes
                     if node.type in {"class_declaration", "function_declaration"}}  # fmt: skip

    def read(self, node: Node) -> Iterator[Finding]:
        match node.type:
            case "call_expression" | "new_expression":
                yield from self._call(node)
            case "import_statement":
                yield from self._module(node, javascript.literal(node.child_by_field_name("source")))
            case "member_expression" | "subscript_expression":
                yield from self._member(node)
            case "assignment_expression" | "augmented_assignment_expression":
                left = node.child_by_field_name("left")
                if self._is_shared(left):
                    yield _at(node, "js.swap", javascript.node_text(left))

    def _call(self, node: Node) -> Iterator[Finding]:
        function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        target = self._names.resolve(function) or ""
        arguments = javascript.arguments(node)
        for rule in self._rules(target, function, arguments):
            yield _at(node, rule, target)
        for seen in self._hooks(self._commands(target, arguments)):
            yield replace(seen, line=node.start_point.row + 1)
        if target in {"require", "process.getBuiltinModule"} or (function and function.type == "import"):
            yield from self._check_loaded(node, arguments)

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
        if target == "process.kill" and arguments and "process.pid" in javascript.node_text(arguments[0]):
            yield "js.hard-exit"
        if target in _DEFINERS and arguments and self._is_shared(arguments[0], is_replaced=False):
            yield "js.swap"
        yield from self._of_files(target, arguments)

    def _is_shared(self, node: Node | None, *, is_replaced: bool = True) -> bool:
        """Check whether a node is a global of JavaScript, a module of Node.js, or a member of one of them.

        A name that imports bind to a module may be bound anew, so with `is_replaced` the module itself is not shared.
        """
        target = self._names.resolve(node) or ""
        if target.startswith(_FREE):
            return False
        top, dot, _ = target.partition(".")
        first = javascript.node_text(node).partition(".")[0]
        is_module = top in _NODE and (bool(dot) or not is_replaced) and self._names.is_imported(first)
        return is_module or (top in _GLOBALS and top not in self._own)

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
        return any("shell" in javascript.node_text(argument) and "shell: false" not in javascript.node_text(argument)
                   for argument in arguments if argument.type == "object")  # fmt: skip

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

    def _check_loaded(self, node: Node, arguments: list[Node]) -> Iterator[Finding]:
        module = self._names.text(arguments[0]) if arguments else UNKNOWN
        if UNKNOWN in module:
            yield _at(node, "js.dynamic-import", "")
        else:
            yield from self._module(node, module)

    def _module(self, node: Node, name: str | None) -> Iterator[Finding]:
        if name in {"node:test", "node:test/reporters"} and not self._is_test:
            yield _at(node, "js.test-detection", f"import of {name} outside of tests")
        if (name or "").removeprefix("node:").partition("/")[0] in _NATIVE_MODULES:
            yield _at(node, "js.native", f"import of {name}")
        elif (name or "").startswith("data:"):
            yield _at(node, "js.eval", "import of text")

    def _member(self, node: Node) -> Iterator[Finding]:
        if self._is_test:
            return
        text = self._names.resolve(node) or ""
        if text.startswith(("process.env.NODE_TEST", "process.env.JEST_WORKER", "process.env.VITEST")):
            yield _at(node, "js.test-detection", text)


def _makes_function(target: str, function: Node | None, arguments: list[Node]) -> bool:
    """Check for a call like `(() => {}).constructor("…")`, which compiles text to a function, as `Function` does."""
    named = target.endswith(".constructor") or (not target and _is_constructor(function))
    return named and bool(arguments) and arguments[-1].type in {*javascript.STRINGS, "binary_expression", "identifier"}


def _is_constructor(function: Node | None) -> bool:
    if function is None or function.type != "member_expression":
        return False
    return javascript.node_text(function.child_by_field_name("property")) == "constructor"


def _at(node: Node, rule: str, what: str) -> Finding:
    # Long nodes are cut, because each nested call would repeat the text of its inner calls.
    source = " ".join(javascript.node_text(node).split()) if node.end_byte - node.start_byte < 400 else "…" * 61
    shown = source if len(source) <= 60 else (f"{what}(…)" if what else source[:59] + "…")
    return Finding(rule, node.start_point.row + 1, f"`{shown}`")
