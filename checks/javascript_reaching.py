"""Ways out of a JavaScript module: to Node.js' own workings, to descriptors and processes, to the tests beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from checks.hooks.commands import UNKNOWN
from checks.javascript_names import Names
from checks.sighting import Sighting
from core import javascript
from core.javascript import said
from core.paths import is_test_path

if TYPE_CHECKING:
    from tree_sitter import Node

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
    **dict.fromkeys(("Proxy", "Proxy.revocable"), "js.proxy"),
    "module.parent": "js.call-site",
    **dict.fromkeys(("assert.AssertionError", "assert/strict.AssertionError"), "js.odd-throw"),
}  # fmt: skip
"""Parts of Node.js that belong to a rule however they are used."""

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


def look(nodes: list[Node], names: Names, *, is_test: bool) -> Iterator[Sighting]:
    """What stands out where a module reaches out."""
    own = {said(node.child_by_field_name("name")) for node in nodes
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
            case "shorthand_property_identifier_pattern" if said(node) == "stack":
                yield _at(node, "js.call-site", "{ stack }")
            case "import_statement":
                yield from _module(node, javascript.literal(node.child_by_field_name("source")), is_test=is_test)
            case "string" | "template_string" | "binary_expression" | "computed_property_name":
                yield from _text(node, names)


def _text(node: Node, names: Names) -> Iterator[Sighting]:
    if node.type != "computed_property_name":
        if _PROCESS_FILES.match(text := names.text(node)):
            yield _at(node, "js.process-files", text.replace(UNKNOWN, "…")[:50])
    elif node.parent and node.parent.type == "pair_pattern" and names.text(node.named_children[0]) in _HIDDEN:
        yield _at(node, "js.hidden-name", said(node)[:50])


def _member(node: Node, names: Names) -> Iterator[Sighting]:
    target = names.resolve(node) or ""
    if rule := MEMBERS.get(target):
        yield _at(node, rule, target)
    if node.type == "subscript_expression":
        yield from _computed(node, names)
        return
    name, inner = said(node.child_by_field_name("property")), node.child_by_field_name("object")
    if name == "stack" and _is_new_error(inner, names):
        yield _at(node, "js.frames", "new Error().stack")
    elif name in {"split", "match", "matchAll", "replace", "slice"} and said(inner).endswith(".stack"):
        yield _at(node, "js.frames", f".stack.{name}")
    elif name in {"caller", "_handle", "__defineGetter__", "__lookupGetter__"}:
        yield _at(node, "js.native" if name == "_handle" else "js.frames", f".{name}")


def _is_new_error(node: Node | None, names: Names) -> bool:
    """Whether this is an error that was made on the spot, for the sake of its stack."""
    while node is not None and node.type in {"parenthesized_expression", "await_expression"} and node.named_children:
        node = node.named_children[0]
    node = names.value_of(node) or node
    if node is None or node.type not in {"new_expression", "call_expression"}:
        return False
    made = node.child_by_field_name("constructor") or node.child_by_field_name("function")
    return (names.resolve(made) or "").endswith("Error")


def _computed(node: Node, names: Names) -> Iterator[Sighting]:
    """`process["bind" + "ing"]`, `globalThis[name]`: a part whose name is put together."""
    index, base = node.child_by_field_name("index"), names.resolve(node.child_by_field_name("object"))
    if index is None or index.type in {"string", "number"}:
        return
    text = names.text(index)
    loose = UNKNOWN in text
    turned = loose and _TURNED.search(said(names.value_of(index) or index))
    if turned or (not loose and text in _HIDDEN) or (base in _POWERFUL and (loose or index.type != "identifier")):
        yield _at(node, "js.hidden-name", said(node)[:50])
    elif loose and base in _LARGE:
        yield _at(node, "js.dynamic-name", said(node)[:50])


def _identifier(node: Node, names: Names) -> Iterator[Sighting]:
    """A part of Node.js that was imported by name; where it is bound it is not used yet."""
    around = node.parent.type if node.parent else ""
    if around in {"import_specifier", "import_clause", "variable_declarator", "pair_pattern", "member_expression"}:
        return
    if rule := MEMBERS.get(names.resolve(node) or ""):
        yield _at(node, rule, names.resolve(node) or "")


def _call(node: Node, names: Names, *, is_test: bool) -> Iterator[Sighting]:
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    target, arguments = names.resolve(function) or "", javascript.arguments(node)
    first = arguments[0] if arguments else None
    if rule := MEMBERS.get(names.resolve(node) or ""):
        yield _at(node, rule, names.resolve(node) or "")
    if target in _DEFINERS and first is not None and _is_shared(first, names):
        yield _at(node, "js.swap", f"{target}({said(first)[:30]}, …)")
    elif target in _DESCRIBERS and names.resolve(first) in _LARGE:
        yield _at(node, "js.hidden-name", f"{target}({said(first)[:30]})")
    elif target == "Error.captureStackTrace" and said(first) != "this":
        made = names.value_of(first) or first
        rule = "js.frames" if made is not None and made.type == "object" else "js.call-site"
        yield _at(node, rule, f"captureStackTrace({said(first)[:30]})")
    elif target in {"setInterval", "setTimeout", "setImmediate"} and _at_import(node):
        yield _at(node, "js.beside", f"{target}(…)")
    elif target in _LISTENERS and names.text(first) in _ENDS:
        yield _at(node, "js.beside", f"process.on({said(first)})")
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


def _of_files(node: Node, name: str, arguments: list[Node], names: Names, *, is_test: bool) -> Iterator[Sighting]:
    first = arguments[0] if arguments else None
    if first is None:
        return
    number = _number(first, names)
    options = " ".join(said(one) for one in arguments if one.type == "object")
    handed = first.type == "identifier" and said(first) not in names.declared and not number
    if handed and name in _ON_DESCRIPTORS and name.endswith("Sync") and not name.endswith("FileSync"):
        yield _at(node, "js.some-descriptor", f"{name}({said(first)[:20]}, …)")
    if (name in _ON_DESCRIPTORS and number) or re.search(r"\bfd\s*:\s*(?:[3-9]|\d\d)", options):
        yield _at(node, "js.descriptors", f"{name}({said(first)[:20]}, …)")
    text = names.text(first).removeprefix("./")
    if is_test or name not in _FILES:
        return
    if is_test_path(text) or _TEST_FOLDER.search(text) or _GLOB_OF_TESTS.search(text):
        yield _at(node, "js.test-files", text[:50].replace(UNKNOWN, "…"))
    elif said(first) in {"__filename", "import.meta.url", "import.meta.filename", "new URL(import.meta.url)"}:
        yield _at(node, "js.own-sources", f"{name}({said(first)})")
    elif said(first) == "process.argv[1]" or (name in _LISTS and (text in _HERE or _BESIDE.search(said(first)))):
        yield _at(node, "js.own-sources", f"{name}({said(first)[:30]})")


def _number(node: Node, names: Names) -> bool:
    """Whether a descriptor is given as a number above those of output, or as one that is counted up."""
    value = names.value_of(node)
    counted = (value is not None and value.type == "number") or node.type == "binary_expression"
    counted = counted and UNKNOWN in (names.text(node) or UNKNOWN)
    return counted or (node.type == "number" and said(node).isdigit() and int(said(node)) > 2)


def _module(node: Node, name: str | None, *, is_test: bool) -> Iterator[Sighting]:
    plain = (name or "").removeprefix("node:")
    if rule := _MODULES.get(plain):
        yield _at(node, rule, f"import of {name}")
    elif plain.startswith("data:"):
        yield _at(node, "js.eval", "import of text")
    elif not is_test and (is_test_path(plain.removeprefix("./")) or _TEST_FOLDER.search(plain.rpartition("/")[0])):
        yield _at(node, "js.test-files", f"import of {plain[:50]}")


def _assignment(node: Node, names: Names, own: set[str]) -> Iterator[Sighting]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None:
        return
    if rule := _replaced(left, names, own):
        yield _at(node, rule, f"{said(left)[:40]} = …")
    elif names.resolve(left) == "process.exitCode" and said(right) in {"0", "undefined", "null"}:
        yield _at(node, "js.beside", "process.exitCode = 0")


def _replaced(left: Node, names: Names, own: set[str]) -> str | None:
    """The rule for what is replaced for everybody: globals, parts of Node.js' modules, what hangs on a prototype."""
    text, target = said(left), names.resolve(left) or ""
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
    """Whether a part is put on what stands for a prototype: `const p = Object.getPrototypeOf([]); p.map = …`."""
    value = names.value_of(left.child_by_field_name("object"))
    first = re.split(r"[.\[(]", said(value))[0]
    mine = first in own or first in names.declared
    return bool(_PROTOTYPE.search(said(value))) or (said(value).endswith(".prototype") and not mine)


def _is_shared(node: Node, names: Names) -> bool:
    target = names.resolve(node) or ""
    top = target.partition(".")[0]
    if node.type in {"object", "array"} or said(node) == "this":
        return False
    imported = names.is_imported(said(node).partition(".")[0])
    return bool(_PROTOTYPE.search(said(node))) or top in _GLOBALS - {"Buffer"} or (top in _NODE and imported)


def _at(node: Node, rule: str, what: str) -> Sighting:
    return Sighting(rule, node.start_point.row + 1, f"`{' '.join(what.split())}`")
