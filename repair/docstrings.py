"""Examples in docstrings, as a file of tests; and the words and signs of a text."""

from __future__ import annotations

import ast
import doctest
import io
import tokenize

from core import literals

PATH = "test_docstring_examples_of_the_scope.py"


def as_tests(path: str, scope: str, *texts: str) -> tuple[str, list[str]]:
    """A file of tests for the examples that name a function, and the ids of its tests; nothing for methods.

    An example counts where it calls the function itself and its result is a literal.

    Args:
        path: the function's file.
        scope: its qualified name.
        texts: where examples may stand: the function's source, a docstring.
    """
    if "." in scope or not scope or not path.endswith(".py"):
        return "", []
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").removeprefix("src.")
    lines = [f"from {module} import {scope}", ""]
    ids = list[str]()
    for call, result in dict.fromkeys(pair for text in texts for pair in _examples(text, scope)):
        ids.append(f"{PATH}::test_{len(ids)}")
        lines += ["", f"def test_{len(ids) - 1}():", f"    assert ({call}) == ({result})", ""]
    return "\n".join(lines), ids


def _examples(text: str, scope: str) -> list[tuple[str, str]]:
    found = list[tuple[str, str]]()
    try:
        parts = doctest.DocTestParser().get_examples(text)
    except ValueError:  # the docstring only looks like one with examples
        return []
    for part in parts:
        try:
            expression = ast.parse(part.source.strip(), mode="eval").body
            literals.read(part.want.strip())
        except (SyntaxError, ValueError):
            continue
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if isinstance(expression, ast.Call) and names == {scope}:
            found.append((part.source.strip(), part.want.strip()))
    return found


def tokens(text: str) -> list[str]:
    """The words and signs of a program."""
    try:
        found = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError):
        return text.split()
    return [word for word in found if word.strip()]
