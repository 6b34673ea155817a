"""Finds functions without a body, and reads their signature, docstring and examples without running them."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nightshift.core.code import literals
from nightshift.core.code.parsing import is_stub, parse_expression, parse_quietly
from nightshift_engine.evaluation import SuiteObservation
from nightshift_engine.tree import Place, functions, replace

_RESULT = re.compile(r"\s*(?:->|→|=>|==|=|returns|gives|is)\s*")
_WORDS = re.compile(r"[A-Za-z]{3,}")
_QUOTED = re.compile(r"""(?<![\w])('[^'\n]{1,20}'|"[^"\n]{1,20}")(?![\w])""")
_CODE = re.compile(r"`([^`\n]{1,20})`")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A function that has no body yet.

    Attributes:
        head: the function's text up to its body, docstring included, from column 0.
        indent: the indentation of its body.
        examples: pairs of arguments (in the order of the parameters) and result, from the docstring.
        numbers: True if an int and a float count as the same result.
        constants: the docstring's constants as source text.
        words: the words of the function's name and docstring.
    """

    name: str
    head: str
    indent: str
    parameters: tuple[str, ...]
    examples: tuple[tuple[tuple[object, ...], object], ...]
    numbers: bool
    constants: tuple[str, ...]
    words: frozenset[str]


def read(text: str, scope: str) -> Stub | str:
    """Return the stub of a scope, or the reason why there is none."""
    tree = parse_quietly(text)
    if tree is None:
        return "the file is not valid Python"
    node = next(
        (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == scope), None
    )
    if node is None:
        return f"`{scope}` is not a top-level function of the module"
    if isinstance(node, ast.AsyncFunctionDef):
        return f"`{scope}` is a coroutine"
    if not is_stub(node):
        return f"`{scope}` has a body"
    return _stub(text, node)


def _stub(text: str, node: ast.FunctionDef) -> Stub:
    arguments = node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    parameters = [*positional, *([arguments.vararg.arg] if arguments.vararg else [])]
    parameters += [a.arg for a in arguments.kwonlyargs] + ([arguments.kwarg.arg] if arguments.kwarg else [])
    doc = ast.get_docstring(node) or ""
    returns = ast.unparse(node.returns) if node.returns else ""
    return Stub(
        name=node.name,
        head=_head(text, node),
        indent=_indent(text, node),
        parameters=tuple(parameters),
        examples=tuple(dict(_examples(doc, node, len(positional))).values()),
        numbers="float" in returns or "complex" in returns,
        constants=_constants(doc, {node.name, *parameters}),
        words=frozenset(word.lower() for word in _WORDS.findall(f"{node.name.replace('_', ' ')} {doc}")),
    )


def _head(text: str, node: ast.FunctionDef) -> str:
    """Return the lines from the first decorator to the docstring, without the placeholder for the body."""
    lines = text.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    if ast.get_docstring(node) is not None:
        return "\n".join(lines[first - 1 : node.body[0].end_lineno])
    body = node.body[0]
    head_lines = lines[first - 1 : body.lineno]
    head_lines[-1] = head_lines[-1].encode()[: body.col_offset].decode().rstrip()
    return "\n".join(line for line in head_lines if line.strip() and not line.lstrip().startswith("#"))


def _indent(text: str, node: ast.FunctionDef) -> str:
    first = node.body[0]
    line = text.splitlines()[first.lineno - 1]
    return line[: len(line) - len(line.lstrip())] if first.lineno > node.lineno else "    "


def _constants(doc: str, names: set[str]) -> tuple[str, ...]:
    """Return the constants in a docstring: quoted texts, numbers, and code in backquotes that is not one of `names`."""
    code = [text if _is_literal(text) else repr(text) for text in _CODE.findall(doc) if text not in names]
    texts = [*_QUOTED.findall(doc), *code, *_NUMBER.findall(doc)]
    return tuple(dict.fromkeys(repr(literals.read(text)) for text in texts if _is_literal(text)))[:12]


def _is_literal(text: str) -> bool:
    try:
        literals.read(text)
    except ValueError:
        return False
    return True


def _examples(
    doc: str, node: ast.FunctionDef, positional_count: int
) -> Iterator[tuple[str, tuple[tuple[object, ...], object]]]:
    """Yield the docstring's examples with the text of the call: doctest examples, then calls in the prose."""
    if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
        return
    defaults = [_value(default) for default in node.args.defaults]
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    for call, wanted in (*_of_doctest(doc), *_of_prose(doc, node.name)):
        try:
            arguments = _bind(call, node.name, names, defaults)
            result = literals.read(wanted)
        except ValueError:
            continue
        if len(arguments) == positional_count:
            yield call, (arguments, result)


def _of_doctest(doc: str) -> list[tuple[str, str]]:
    try:
        parts = doctest.DocTestParser().get_examples(doc)
    except ValueError:
        return []
    return [(part.source.strip(), part.want.strip()) for part in parts if part.want]


def _of_prose(doc: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield calls in running text with their results, such as `f(2) -> 4`."""
    for match in re.finditer(rf"(?<![\w.>]){re.escape(name)}\(", doc):
        for end in (i + 1 for i, char in enumerate(doc[: match.start() + 400]) if char == ")" and i >= match.end()):
            call = doc[match.start() : end]
            if not _is_call(call):
                continue
            if arrow := _RESULT.match(doc, end):
                yield from ((call, wanted) for wanted in _literal_prefix(doc[arrow.end() :]))
            break


def _literal_prefix(text: str) -> list[str]:
    """Return a list with the longest literal at the beginning of the first line; empty if there is no literal."""
    line = text.split("\n", 1)[0].strip().strip("`")
    prefixes = (line[:end] for end in range(min(len(line), 200), 0, -1) if line[end - 1] not in ",. ")
    bare = line[:1] not in {"(", "'", '"', "[", "{"}  # after a bare value a comma belongs to the sentence
    return [prefix for prefix in prefixes if not (bare and "," in prefix) and _is_literal(prefix)][:1]


def _is_call(text: str) -> bool:
    try:
        return isinstance(parse_expression(text), ast.Call)
    except SyntaxError:
        return False


def _bind(call: str, name: str, names: list[str], defaults: list[object]) -> tuple[object, ...]:
    """Return the arguments of a call in the order of the parameters.

    Raises:
        ValueError: it is not a call of this function with only literals.
    """
    try:
        node = parse_expression(call)
    except SyntaxError as error:
        raise ValueError("is no expression") from error
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name):
        raise ValueError("is no call of the function")
    given = dict(zip(names, (literals.value_of(argument) for argument in node.args), strict=False))
    given |= {keyword.arg: literals.value_of(keyword.value) for keyword in node.keywords if keyword.arg}
    usual = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    if not set(given) <= set(names) or not set(names) <= given.keys() | usual.keys():
        raise ValueError("has other arguments")
    return tuple(given.get(parameter, usual.get(parameter)) for parameter in names)


def _value(node: ast.expr) -> object:
    try:
        return literals.value_of(node)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StubPlace:
    """A function without a body: its file, qualified name and place."""

    path: str
    scope: str
    position: Place


def find(trees: Mapping[str, ast.Module], observation: SuiteObservation) -> list[StubPlace]:
    """Return the stubs that failing tests run; all stubs if the executed lines are unknown."""
    ran = {(path, line) for test in observation.failing for path, lines in test.lines.items() for line in lines}
    stub_places = list[StubPlace]()
    for path, tree in trees.items():
        for name, position, node in functions(tree):
            body_lines = {
                (path, line)
                for statement in node.body
                for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
            }
            if is_stub(node) and (not ran or ran & body_lines):
                stub_places.append(StubPlace(path=path, scope=name, position=position))
    return stub_places


def fill(tree: ast.Module, stub: StubPlace, text: str) -> ast.Module:
    """Return the tree with the stub's function replaced; `text` begins at column 0."""
    statements = ast.parse(text).body
    function = next(node for node in statements if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    new_tree: ast.Module = replace(tree, stub.position, function)
    return new_tree
