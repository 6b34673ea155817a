"""Draws docstrings and comments at random, for a reader who has not seen the code (`docs/internals/reading.md`).

    python scripts/draw_texts.py SEED [--number 200]

Each text is printed with its file and line. Comments for tools (`noqa`, `type:`) are left out, and comment lines that
follow each other count as one comment.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pragma|fmt:|ruff|mypy|!)")
SCRIPT_COMMENT = re.compile(r"^[ \t]*//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*\*?.*?\*/", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--number", type=int, default=200, metavar="N")
    arguments = parser.parse_args()
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = [text for file in files for text in list_texts(file)]
    sample = random.Random(arguments.seed).sample(texts, arguments.number)  # noqa: S311  the seed is published
    for file, line, text in sorted(sample):
        print(f"## {file}:{line}\n{text}\n")


def list_texts(file: str) -> Iterator[tuple[str, int, str]]:
    """Yield (file, line, text) of each docstring and comment in a file of Python or JavaScript."""
    if file.endswith(".js") and "/vendor/" not in file:
        source = (ROOT / file).read_text(encoding="utf-8")
        for match in SCRIPT_COMMENT.finditer(source):
            yield file, source.count("\n", 0, match.start()) + 1, match[0].strip()
    if file.endswith(".py"):
        source = (ROOT / file).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield file, node.lineno, node.value.value.strip()
        yield from _list_comments(file, source)


def _list_comments(file: str, source: str) -> Iterator[tuple[str, int, str]]:
    blocks: list[tuple[int, list[str]]] = []
    last = (-1, -1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not FOR_TOOLS.match(token.string):
            line, column = token.start
            if last == (line - 1, column):
                blocks[-1][1].append(token.string)
            else:
                blocks.append((line, [token.string]))
            last = token.start
    yield from ((file, line, "\n".join(lines)) for line, lines in blocks)


if __name__ == "__main__":
    main()
