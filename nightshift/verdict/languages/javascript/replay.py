"""Writes a program that repeats the calls in a test file's checks without running any test.

The program is the test file with substitutes for node:test and node:assert. Each check reports the value that it would
compare; the expected values are not in the program. So code that is right only under a test framework, or that has
replaced a comparison function, gives another answer or none.

Only files that consist of tests, imports and declarations are replayed.
"""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import TYPED, arguments, literal, node_text, parse, walk
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edit
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.names import SUITE, Names

if TYPE_CHECKING:
    from tree_sitter import Node

_STRICT = frozenset({"equal", "strictEqual", "deepEqual", "deepStrictEqual"})
_MODULES = frozenset({"node:test", "assert", "assert/strict", "node:assert", "node:assert/strict"})
_ELSEWHERE = re.compile(
    r"import\.meta|\brequire\.main\b|\b(?:__dirname|__filename|mock|process)\b"
    r"|\b(?:before|after)(?:Each)?\s*\("
)
"""Matches code that depends on the file's location, the process or mocks, or that prepares the state of tests."""
_OTHER = "$"
"""Key of the object that stands for a value other than plain data."""
_START = """
const T_waiting = [];
const T_of = (given) => given.find((value) => typeof value === 'function') ?? (() => {});
const T_test = (...given) => { if (!given.some((value) => value?.skip || value?.todo)) T_waiting.push(T_of(given)); };
const T_suite = (...given) => T_of(given)();
Object.assign(T_test, { test: T_test, it: T_test, describe: T_suite, suite: T_suite });
const T_nothing = new Proxy(() => {}, { get: () => T_nothing });
const T_plain = (value, depth = 0) => {
  if (depth > 20) return { $: 'deep' };
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((inner) => T_plain(inner, depth + 1));
  const isPlain = typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return { $: typeof value };
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, T_plain(inner, depth + 1)]));
};
const T_is_steady = (value) => typeof value !== 'object' || value === null || Object.is(Number(value), Number(value));
const T_say = (number, value) => process.stdout.write(`\\nT${JSON.stringify([number, T_plain(value)])}\\n`);
"""
_END = "\n;(async () => { for (const run of T_waiting) { try { await run(); } catch {} } })();\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A program that repeats the checks of a test file.

    Attributes:
        words: the arguments of Node.js that run the program.
        token: a random prefix of the lines that contain answers.
        asked: for each check, the source text of the expression that it compares.
        expected: for each check, the expected value.
    """

    words: tuple[str, ...]
    token: str
    asked: tuple[str, ...]
    expected: tuple[object, ...]

    def find_differing(self, printed: str) -> tuple[str, bool]:
        """Return the first check with a wrong answer; if there is none, the first check without an answer.

        Args:
            printed: the output of the program.

        Returns:
            The source text of the check's expression, and whether the check had an answer. The text is empty if all
            answers are right.
        """
        missing = ""
        given: dict[int, list[object]] = {}
        for line in printed.split("\n"):
            if line.startswith(self.token):
                number, value = json.loads(line.removeprefix(self.token))
                given.setdefault(number, []).append(value)
        for number, (asked, expected) in enumerate(zip(self.asked, self.expected, strict=True)):
            if any(not _is_same(value, expected) for value in given.get(number, ())):
                return asked, True
            missing = missing or ("" if number in given else asked)
        return missing, False


def replay(path: str, text: str) -> Replay | None:
    """Return the program for a node:test file; None if the file cannot be replayed or has no checks.

    Args:
        path: the file's path.
        text: the text of the file.
    """
    root = parse(path, text)
    if root.has_error or path.endswith(TYPED) or _ELSEWHERE.search(text):
        return None
    local_names = names.read(root)
    is_plain = all(_is_plain(node, local_names) for node in root.named_children)
    if not is_plain or local_names.contexts or not (local_names.tests or local_names.runners):
        return None
    token = f"T{secrets.token_hex(8)}"
    edits, asked, expected = list[Edit](), list[str](), list[object]()
    for call, method in _checks(root, local_names):
        given = arguments(call)
        if not given or method not in _STRICT | {"ok"}:
            edits.append(Edit(call.start_byte, call.end_byte, "undefined"))
            continue
        is_condition = method == "ok"
        say = f"{token}_say({len(asked)}, {'!!(' if is_condition else ''}"
        ending = f"){_double_condition(given[0], token)})" if is_condition else ")"
        edits += [
            Edit(call.start_byte, given[0].start_byte, say),
            Edit(given[0].end_byte, call.end_byte, ending),
        ]
        asked.append(node_text(given[0]))
        expected.append(True if is_condition else _value(given[1]) if len(given) == 2 else _UNKNOWN)
    if not asked:
        return None
    edits += [
        import_edit
        for import_edit in _imports(root, path)
        if not any(e.start <= import_edit.start < e.end for e in edits)
    ]
    kind = "module" if any(node.type == "import_statement" for node in root.named_children) else "commonjs"
    head = _START.replace("T_", f"{token}_").replace("`\\nT", f"`\\n{token}") + _stand_ins(local_names, token)
    program = head + edit(encode(text), edits) + _END.replace("T_", f"{token}_")
    return Replay(
        words=(f"--input-type={kind}", "-e", program), token=token, asked=tuple(asked), expected=tuple(expected)
    )


def _checks(root: Node, local_names: Names) -> Iterator[tuple[Node, str]]:
    """List the checks of a file, each with its node:assert name; checks inside other checks are left out."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        method = local_names.check(node.child_by_field_name("function")) if node.type == "call_expression" else None
        if method is None:
            waiting += reversed(node.named_children)
        else:
            yield node, method


def _double_condition(condition: Node, token: str) -> str:
    """Return conditions to append to a repeated condition, so that special objects cannot satisfy it.

    An operand must convert to the same number twice. For `instanceof`, the class must not accept a plain object as its
    instance.
    """
    if condition.type != "binary_expression":
        return ""
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if node_text(condition.child_by_field_name("operator")) == "instanceof":
        return f" && !({{}} instanceof {node_text(right)})" if node_text(right) != "Object" else ""
    operands = (node_text(side) for side in (left, right) if side is not None and side.type == "identifier")
    return "".join(f" && {token}_is_steady({name})" for name in operands if name != "undefined")


def _stand_ins(local_names: Names, token: str) -> str:
    """Return declarations of substitutes for the names that the file imports from node:test and node:assert."""
    tests = {name: "suite" if kind == SUITE else "test" for name, kind in local_names.tests.items()}
    others = dict.fromkeys((*local_names.asserts, *local_names.checks), "nothing")
    stand_ins: Mapping[str, str] = {**others, **dict.fromkeys(local_names.runners, "test"), **tests}
    return "".join(f"const {name} = {token}_{of};\n" for name, of in stand_ins.items())


def _is_plain(node: Node, local_names: Names) -> bool:
    """Check whether a top-level statement is an import, a comment, a declaration or a call that creates tests."""
    if node.type in {"import_statement", "comment", "lexical_declaration", "function_declaration"}:
        return True
    if node.type != "expression_statement":
        return False
    call = node.named_children[0]
    return call.type == "call_expression" and local_names.kind(call.child_by_field_name("function")) is not None


def _imports(root: Node, path: str) -> Iterator[Edit]:
    """List the edits that remove imports of the test framework, and make other imports relative to the root."""
    folder = posixpath.dirname(path)
    for node in walk(root):
        source = None
        if node.type == "import_statement":
            source = node.child_by_field_name("source")
        elif node.type == "call_expression" and node_text(node.child_by_field_name("function")) in {
            "require",
            "import",
        }:
            source = next(iter(arguments(node)), None)
        name = literal(source)
        if source is None or name is None:
            continue
        if name in _MODULES:
            statement = node if node.type == "import_statement" else _declaration(node)
            if statement is not None:
                yield Edit(statement.start_byte, statement.end_byte, "")
        elif name.startswith("."):
            wanted = posixpath.normpath(posixpath.join(folder, name))
            yield Edit(source.start_byte, source.end_byte, json.dumps(f"./{wanted}"))


def _declaration(node: Node) -> Node | None:
    """Return the declaration that contains a call; None if there is none."""
    ancestor: Node | None = node
    while ancestor is not None and ancestor.type != "lexical_declaration":
        ancestor = ancestor.parent
    return ancestor


_UNKNOWN = object()


def _value(node: Node) -> object:
    """Return the value of a literal as the program reports it; `_UNKNOWN` for other expressions."""
    match node.type:
        case "true" | "false" | "null" | "number":
            try:
                return json.loads(node_text(node))
            except ValueError:
                return _UNKNOWN
        case "undefined":
            return {_OTHER: "undefined"}
        case "string":
            text = literal(node)
            return _UNKNOWN if text is None else text
        case "unary_expression" if node_text(node.child_by_field_name("operator")) == "-":
            value = _value(node.named_children[-1])
            return -value if isinstance(value, int | float) and not isinstance(value, bool) and value else _UNKNOWN
        case "parenthesized_expression":
            return _value(node.named_children[0])
        case "array":
            values = [_value(child) for child in node.named_children if child.type != "comment"]
            return _UNKNOWN if any(value is _UNKNOWN for value in values) or ",," in node_text(node) else values
        case "object":
            return _object(node)
    return _UNKNOWN


def _object(node: Node) -> object:
    members: dict[str, object] = {}
    for pair in node.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if pair.type == "comment":
            continue
        if pair.type != "pair" or key is None or value is None or key.type not in {"property_identifier", "string"}:
            return _UNKNOWN
        inner = _value(value)
        if inner is _UNKNOWN:
            return _UNKNOWN
        members[literal(key) or node_text(key)] = inner
    return members


def _is_same(value: object, expected: object) -> bool:
    """Check whether an answer may be right. If the expected value is not a literal, every answer may be."""
    if expected is _UNKNOWN:
        return True
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(_is_same, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(_is_same(value[key], expected[key]) for key in value)
    return value == expected or str(value) == str(expected)  # the test may use a loose comparison
