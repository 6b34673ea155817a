"""Finds suspicious code in the syntax trees of JavaScript and TypeScript; strings and comments do not count as code.

Some rules concern code that reaches beyond its own module: into the internals of Node.js, to file descriptors and
processes, or to the tests of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from nightshift.core.code import javascript
from nightshift.core.code.javascript import node_text
from nightshift.core.code.paths import is_test_path
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
MEMBERS = {
    **dict.fromkeys(("process.binding", "process._linkedBinding", "process.dlopen", "process._rawDebug",
                     "process._debugProcess", "process.moduleLoadList", "process.setSourceMapsEnabled"), "js.native"),
    **dict.fromkeys(("process._getActiveHandles", "process._getActiveRequests", "process.report.getReport",
                     "process.report.writeReport", "util.getCallSites", "util.getCallSite", "arguments.callee",
                     "module.children", "process.mainModule", "require.main.children", "require.main.require",
                     "module.parent.children"), "js.frames"),
    **dict.fromkeys(("module.register", "module.registerHooks", "module._load", "module._extensions", "module._cache",
                     "module._resolveFilename", "module._pathCache", "module.wrap", "module.wrapper",
                     "module.prototype", "module.prototype._compile", "module.Module", "module.syncBuiltinESMExports",
                     "require.cache", "require.extensions", "async_hooks.createHook",
                     "async_hooks.executionAsyncResource", "process.removeAllListeners",
                     "process.setUncaughtExceptionCaptureCallback"), "js.hooks"),
    **dict.fromkeys(("process.listeners", "process.rawListeners", "process.off", "process.removeListener",
                     "process.emit", "process.send", "process.channel", "process.disconnect", "FinalizationRegistry",
                     "worker_threads.Worker", "process.ppid", "WebAssembly.Instance", "WebAssembly.instantiate",
                     "WebAssembly.Module"), "js.beside"),
    "module.parent": "js.call-site",
    **dict.fromkeys(("assert.AssertionError", "assert/strict.AssertionError"), "js.odd-throw"),
}  # fmt: skip
"""Members of Node.js modules and globals, each with the rule that any use of the member matches."""
_MODULES = {
    **dict.fromkeys(("diagnostics_channel", "trace_events"), "js.hooks"),
    **dict.fromkeys(("repl", "wasi"), "js.native"),
}
_POWERFUL = frozenset({"process", "require", "Reflect", "child_process", "vm", "process.binding"})
_LARGE = _POWERFUL | {"globalThis", "global", "module", "fs"}
_NODE = frozenset({"fs", "path", "util", "events", "stream", "buffer", "timers", "child_process", "module", "test",
                   "perf_hooks", "assert", "assert/strict", "fs/promises", "url", "worker_threads", "os",
                   "vm"})  # fmt: skip
_GLOBALS = frozenset({
    "Object", "Array", "String", "Number", "Boolean", "BigInt", "Function", "Promise", "JSON", "Math", "Date", "RegExp",
    "Map", "Set", "WeakMap", "WeakSet", "Symbol", "Error", "TypeError", "Reflect", "Proxy", "Intl", "Buffer", "process",
    "ArrayBuffer", "Uint8Array", "structuredClone", "queueMicrotask", "globalThis", "assert", "Iterator", "setTimeout",
    "setInterval", "setImmediate", "console", "performance",
})  # fmt: skip
_LOADERS = frozenset({"require", "process.getBuiltinModule", "module.require"})
_LISTENERS = frozenset({"process.on", "process.once", "process.addListener", "process.prependListener"})
_ENDS = frozenset({"exit", "beforeExit", "uncaughtException", "unhandledRejection", "message"})
_FREE = ("process.exitCode", "process.title", "process.env", "Error.stackTraceLimit", "module.exports")
_DEFINERS = frozenset({
    "Object.defineProperty", "Object.defineProperties", "Object.assign", "Object.setPrototypeOf", "Reflect.set",
    "Reflect.defineProperty", "Reflect.setPrototypeOf", "Reflect.deleteProperty",
})  # fmt: skip
_DESCRIBERS = frozenset({"Object.getOwnPropertyDescriptor", "Object.getOwnPropertyDescriptors", "Reflect.ownKeys",
                         "Object.getOwnPropertyNames", "Object.entries", "Object.keys", "Object.values"})  # fmt: skip
_PROTOTYPE = re.compile(r"\.__proto__\b|\bgetPrototypeOf\(|\.constructor\.prototype\b")
_PROCESS_FILES = re.compile(rf"/proc/(self|thread-self|\d|{UNKNOWN})|/dev/(fd|shm|pts|ptmx|mem|kmem)\b")
_TEST_FOLDER = re.compile(r"(^|/)(tests?|__tests__)(/|$)")
_GLOB_OF_TESTS = re.compile(r"(^|/)[^/]*([._-]test|\.spec)\.[\w*{},]+$|(^|/)test[_-][^/]*$")
_ON_DESCRIPTORS = frozenset({
    "writeSync", "write", "writevSync", "writev", "readSync", "read", "fstatSync", "fstat", "closeSync", "close",
    "fsyncSync", "ftruncateSync", "writeFileSync", "appendFileSync", "readFileSync", "WriteStream", "ReadStream",
})  # fmt: skip
_FILES = frozenset({
    "readFile", "readFileSync", "open", "openSync", "createReadStream", "readdir", "readdirSync", "opendir",
    "opendirSync", "glob", "globSync", "stat", "statSync", "copyFile", "copyFileSync", "cp", "cpSync", "watch",
})  # fmt: skip
_LISTS = frozenset({"readdir", "readdirSync", "opendir", "opendirSync", "glob", "globSync"})
_HERE = frozenset({"", ".", "./", "..", "/", "*", "**", "**/*", "**/*.mjs", "**/*.js", "*.js", "*.mjs"})
_BESIDE = re.compile(r"process\.cwd\(\)|__dirname|__filename|import\.meta\.(?:url|dirname|filename)")
_TURNED = re.compile(r"fromCharCode|fromCodePoint|atob\(|Buffer\.from\(|\.reverse\(\)|decodeURI|unescape\(")
_HIDDEN = frozenset({"constructor", "__proto__", "prototype", "binding", "_linkedBinding", "mainModule", "caller",
                     "callee", "valueOf", "toPrimitive", "prepareStackTrace", "captureStackTrace",
                     "reallyExit"})  # fmt: skip


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
    names = Names(nodes)
    reader = _Reader(names, hooks, is_test=is_test)
    findings = (
        *(seen for node in nodes for seen in reader.read(node)),
        *reaching(nodes, names, is_test=is_test),
    )
    return list(dict.fromkeys(findings))


class _Reader:
    def __init__(self, names: Names, hooks: Hooks, *, is_test: bool) -> None:
        self._names, self._hooks, self._is_test = names, hooks, is_test

    def read(self, node: Node) -> Iterator[Finding]:
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
        if target == "process.kill" and arguments and "process.pid" in javascript.node_text(arguments[0]):
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

    def _member(self, node: Node) -> Iterator[Finding]:
        if self._is_test:
            return
        text = self._names.resolve(node) or ""
        if text.startswith(("process.env.NODE_TEST", "process.env.JEST_WORKER", "process.env.VITEST")):
            yield _at(node, "js.test-detection", text)

    def _environment(self, node: Node, value: Node | None) -> Iterator[Finding]:
        if value and self._names.resolve(value) == "process.env":
            yield _at(node, "js.environment", "process.env")


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


def reaching(nodes: list[Node], names: Names, *, is_test: bool) -> Iterator[Finding]:
    """List the findings for code that reaches out of its module, such as into the internals of Node.js."""
    own = {node_text(node.child_by_field_name("name")) for node in nodes
           if node.type in {"class_declaration", "function_declaration", "generator_function_declaration"}}  # fmt: skip
    for node in nodes:
        match node.type:
            case "member_expression" | "subscript_expression":
                yield from _member(node, names)
            case "identifier":
                yield from _identifier(node, names)
            case "call_expression" | "new_expression":
                yield from _call(node, names, is_test=is_test)
            case "assignment_expression" | "augmented_assignment_expression":
                yield from _assignment(node, names, own)
            case "shorthand_property_identifier_pattern" if node_text(node) == "stack":
                yield _reaches_at(node, "js.call-site", "{ stack }")
            case "import_statement":
                yield from _module(node, javascript.literal(node.child_by_field_name("source")), is_test=is_test)
            case "string" | "template_string" | "binary_expression" | "computed_property_name":
                yield from _text(node, names)


def _text(node: Node, names: Names) -> Iterator[Finding]:
    if node.type != "computed_property_name":
        if _PROCESS_FILES.match(text := names.text(node)):
            yield _reaches_at(node, "js.process-files", text.replace(UNKNOWN, "…")[:50])
    elif node.parent and node.parent.type == "pair_pattern" and names.text(node.named_children[0]) in _HIDDEN:
        yield _reaches_at(node, "js.hidden-name", node_text(node)[:50])


def _member(node: Node, names: Names) -> Iterator[Finding]:
    target = names.resolve(node) or ""
    if rule := MEMBERS.get(target):
        yield _reaches_at(node, rule, target)
    if node.type == "subscript_expression":
        yield from _check_computed(node, names)
        return
    name, inner = node_text(node.child_by_field_name("property")), node.child_by_field_name("object")
    if name == "stack" and _is_new_error(inner, names):
        yield _reaches_at(node, "js.frames", "new Error().stack")
    elif name in {"split", "match", "matchAll", "replace", "slice"} and node_text(inner).endswith(".stack"):
        yield _reaches_at(node, "js.frames", f".stack.{name}")
    elif name in {"caller", "_handle", "__defineGetter__", "__lookupGetter__"}:
        yield _reaches_at(node, "js.native" if name == "_handle" else "js.frames", f".{name}")


def _is_new_error(node: Node | None, names: Names) -> bool:
    """Check whether a node is an error that was created only to read its stack."""
    while node is not None and node.type in {"parenthesized_expression", "await_expression"} and node.named_children:
        node = node.named_children[0]
    node = names.value_of(node) or node
    if node is None or node.type not in {"new_expression", "call_expression"}:
        return False
    constructor = node.child_by_field_name("constructor") or node.child_by_field_name("function")
    return (names.resolve(constructor) or "").endswith("Error")


def _check_computed(node: Node, names: Names) -> Iterator[Finding]:
    """Report members with a computed name: `process["bind" + "ing"]`, `globalThis[name]`."""
    index, base = node.child_by_field_name("index"), names.resolve(node.child_by_field_name("object"))
    if index is None or index.type in {"string", "number"}:
        return
    text = names.text(index)
    loose = UNKNOWN in text
    turned = loose and _TURNED.search(node_text(names.value_of(index) or index))
    if turned or (not loose and text in _HIDDEN) or (base in _POWERFUL and (loose or index.type != "identifier")):
        yield _reaches_at(node, "js.hidden-name", node_text(node)[:50])
    elif loose and base in _LARGE:
        yield _reaches_at(node, "js.dynamic-name", node_text(node)[:50])


def _identifier(node: Node, names: Names) -> Iterator[Finding]:
    """Report uses of a Node.js member that the module imported by name; the import itself does not count."""
    around = node.parent.type if node.parent else ""
    if around in {"import_specifier", "import_clause", "variable_declarator", "pair_pattern", "member_expression"}:
        return
    if rule := MEMBERS.get(names.resolve(node) or ""):
        yield _reaches_at(node, rule, names.resolve(node) or "")


def _call(node: Node, names: Names, *, is_test: bool) -> Iterator[Finding]:
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    target, arguments = names.resolve(function) or "", javascript.arguments(node)
    first = arguments[0] if arguments else None
    if rule := MEMBERS.get(names.resolve(node) or ""):
        yield _reaches_at(node, rule, names.resolve(node) or "")
    if target in _DEFINERS and first is not None and _is_shared(first, names):
        yield _reaches_at(node, "js.swap", f"{target}({node_text(first)[:30]}, …)")
    elif target in _DESCRIBERS and names.resolve(first) in _LARGE:
        yield _reaches_at(node, "js.hidden-name", f"{target}({node_text(first)[:30]})")
    elif target == "Error.captureStackTrace" and node_text(first) != "this":
        value = names.value_of(first) or first
        rule = "js.frames" if value is not None and value.type == "object" else "js.call-site"
        yield _reaches_at(node, rule, f"captureStackTrace({node_text(first)[:30]})")
    elif target in {"setInterval", "setTimeout", "setImmediate"} and _at_import(node):
        yield _reaches_at(node, "js.beside", f"{target}(…)")
    elif target in _LISTENERS and names.text(first) in _ENDS:
        yield _reaches_at(node, "js.beside", f"process.on({node_text(first)})")
    elif (function is not None and function.type == "import") or target in _LOADERS:
        yield from _module(node, names.text(first), is_test=is_test)
    module, _, name = target.rpartition(".")
    if module in {"fs", "fs.promises", "fs/promises"} or target in {"net.Socket", "tty.WriteStream", "tty.ReadStream"}:
        yield from _of_files(node, name, arguments, names, is_test=is_test)


def _at_import(node: Node | None) -> bool:
    while node is not None:
        if "function" in node.type or node.type == "method_definition":
            return False
        node = node.parent
    return True


def _of_files(node: Node, name: str, arguments: list[Node], names: Names, *, is_test: bool) -> Iterator[Finding]:
    first = arguments[0] if arguments else None
    if first is None:
        return
    number = _number(first, names)
    options = " ".join(node_text(argument) for argument in arguments if argument.type == "object")
    handed = first.type == "identifier" and node_text(first) not in names.declared and not number
    if handed and name in _ON_DESCRIPTORS and name.endswith("Sync") and not name.endswith("FileSync"):
        yield _reaches_at(node, "js.some-descriptor", f"{name}({node_text(first)[:20]}, …)")
    if (name in _ON_DESCRIPTORS and number) or re.search(r"\bfd\s*:\s*(?:[3-9]|\d\d)", options):
        yield _reaches_at(node, "js.descriptors", f"{name}({node_text(first)[:20]}, …)")
    text = names.text(first).removeprefix("./")
    if is_test or name not in _FILES:
        return
    if is_test_path(text) or _TEST_FOLDER.search(text) or _GLOB_OF_TESTS.search(text):
        yield _reaches_at(node, "js.test-files", text[:50].replace(UNKNOWN, "…"))
    elif node_text(first) in {"__filename", "import.meta.url", "import.meta.filename", "new URL(import.meta.url)"}:
        yield _reaches_at(node, "js.own-sources", f"{name}({node_text(first)})")
    elif node_text(first) == "process.argv[1]" or (
        name in _LISTS and (text in _HERE or _BESIDE.search(node_text(first)))
    ):
        yield _reaches_at(node, "js.own-sources", f"{name}({node_text(first)[:30]})")


def _number(node: Node, names: Names) -> bool:
    """Check whether a file descriptor is a number above 2, a variable set to a number, or a computed value."""
    value = names.value_of(node)
    counted = (value is not None and value.type == "number") or node.type == "binary_expression"
    counted = counted and UNKNOWN in (names.text(node) or UNKNOWN)
    return counted or (node.type == "number" and node_text(node).isdigit() and int(node_text(node)) > 2)


def _module(node: Node, name: str | None, *, is_test: bool) -> Iterator[Finding]:
    module_name = (name or "").removeprefix("node:")
    if rule := _MODULES.get(module_name):
        yield _reaches_at(node, rule, f"import of {name}")
    elif module_name.startswith("data:"):
        yield _reaches_at(node, "js.eval", "import of text")
    elif not is_test and (
        is_test_path(module_name.removeprefix("./")) or _TEST_FOLDER.search(module_name.rpartition("/")[0])
    ):
        yield _reaches_at(node, "js.test-files", f"import of {module_name[:50]}")


def _assignment(node: Node, names: Names, own: set[str]) -> Iterator[Finding]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None:
        return
    if rule := _find_replaced(left, names, own):
        yield _reaches_at(node, rule, f"{node_text(left)[:40]} = …")
    elif names.resolve(left) == "process.exitCode" and node_text(right) in {"0", "undefined", "null"}:
        yield _reaches_at(node, "js.beside", "process.exitCode = 0")


def _find_replaced(left: Node, names: Names, own: set[str]) -> str | None:
    """Return the rule for assigning to a global, a member of a Node.js module or a prototype; otherwise None."""
    text, target = node_text(left), names.resolve(left) or ""
    if not target and left.type == "subscript_expression":
        target = f"{names.resolve(left.child_by_field_name('object')) or ''}.*"
    top, first = target.partition(".")[0], re.split(r"[.\[(]", text)[0]
    if left.type == "identifier":
        return "js.swap" if target in _GLOBALS and first not in own else None
    if target.startswith(_FREE):
        return None
    part_of_node = top in _NODE and top != target and names.is_imported(first)
    if (top in _GLOBALS and top not in own) or part_of_node:
        return "js.swap"
    if _is_prototype(left, names, own):
        return "js.swap"
    if _PROTOTYPE.search(text):
        return "js.patching" if text.endswith(".__proto__") else "js.swap"
    if not re.search(r"\.prototype(\.|\[|$)", text):
        return None
    if names.is_imported(first) or not re.match(r"[\w$.]+\.prototype", text):
        return "js.swap"
    return None if first in own or first in names.declared else "js.patching"


def _is_prototype(left: Node, names: Names, own: set[str]) -> bool:
    """Check whether an assignment changes a prototype: `const p = Object.getPrototypeOf([]); p.map = …`."""
    value = names.value_of(left.child_by_field_name("object"))
    first = re.split(r"[.\[(]", node_text(value))[0]
    mine = first in own or first in names.declared
    return bool(_PROTOTYPE.search(node_text(value))) or (node_text(value).endswith(".prototype") and not mine)


def _is_shared(node: Node, names: Names) -> bool:
    target = names.resolve(node) or ""
    top = target.partition(".")[0]
    if node.type in {"object", "array"} or node_text(node) == "this":
        return False
    imported = names.is_imported(node_text(node).partition(".")[0])
    return bool(_PROTOTYPE.search(node_text(node))) or top in _GLOBALS - {"Buffer"} or (top in _NODE and imported)


def _reaches_at(node: Node, rule: str, what: str) -> Finding:
    return Finding(rule, node.start_point.row + 1, f"`{' '.join(what.split())}`")
