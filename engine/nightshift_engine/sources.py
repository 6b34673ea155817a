"""The files that a fix may change, and the writer that turns a changed tree into a new text of the file.

The writer compares the old and the new tree from the top. Where a node differs, its text is replaced; where statements
differ, their lines are replaced. If so small a replacement does not give the wanted tree, the statement, the function
or the file is replaced as a whole. Each result is parsed again and must give the wanted tree.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.text.encoding import decode, encode, is_utf8
from nightshift_engine.evaluation import EvaluationJob, SuiteObservation
from nightshift_engine.tree import COMPARISONS, OPERATIONS

MOST_FILES = 40


@dataclass(frozen=True, slots=True)
class ProgramText:
    """The text of a program, decoded as Python would decode its file, whatever the encoding (PEP 263)."""

    text: str
    encoding: str = "utf-8"

    def file_text(self, text: str) -> str:
        """Convert a new text of the program to its file's text and encoding (see `nightshift.core.text.encoding`)."""
        return text if self.encoding == "utf-8" else decode(text.encode(self.encoding, "backslashreplace"))


def program_text(file_text: str) -> ProgramText | None:
    """Return the program in a file's text; None if Python cannot decode the file."""
    if is_utf8(file_text):
        return ProgramText(file_text)
    raw = encode(file_text)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return ProgramText(raw.decode(encoding), encoding)
    except (SyntaxError, LookupError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The programs that a fix may change, and the syntax trees of those that parse. Both are keyed by path."""

    programs: Mapping[str, ProgramText] = field(default_factory=dict)
    trees: Mapping[str, ast.Module] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """The text of each program by path, as Python decodes it."""
        return {path: program.text for path, program in self.programs.items()}

    def render(self, path: str, tree: ast.Module) -> str:
        """Return the new text of a file that gets this tree."""
        program = self.programs[path]
        return program.file_text(render(program.text, tree))


def sources(job: EvaluationJob, observation: SuiteObservation) -> Sources:
    """Read the files that may be changed: Python files that are neither tests nor test configuration.

    Args:
        job: the job with the tree.
        observation: what the tests did. A file of the base is read if failing tests ran it, or if it is in the
            traceback of an error.
    """
    programs = dict[str, ProgramText]()
    for path in list(dict.fromkeys(_paths(job, observation)))[:MOST_FILES]:
        text = job.text_of(path)
        if text is not None and _may_change(job, path) and (program := program_text(text)):
            programs[path] = program
    parsed = {path: parse_quietly(program.text) for path, program in programs.items()}
    return Sources(programs=programs, trees={path: tree for path, tree in parsed.items() if tree is not None})


def _paths(job: EvaluationJob, observation: SuiteObservation) -> Iterator[str]:
    yield from (path for path, text in {**job.start, **job.change}.items() if text is not None)
    for error in (*observation.broken.values(), *(test.error for test in observation.failing if test.error)):
        yield from (frame[0] for frame in error.frames)
    yield from observation.broken
    for test in observation.failing:
        yield from test.lines


def _may_change(job: EvaluationJob, path: str) -> bool:
    name = path.rpartition("/")[2]
    is_test = path in job.tests or name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return path.endswith(".py") and not is_test and path not in job.base.unwritable()


_SIGNS: dict[type[Any], str] = {**OPERATIONS, **COMPARISONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """A replacement of the bytes from `start` to `stop` of the text."""

    start: int
    stop: int
    text: str


def render(text: str, wanted: ast.Module) -> str:
    """Return the text of a file with the smallest change that gives it the tree `wanted`.

    Args:
        text: the present text of the file; it must parse.
        wanted: the tree that the new text must have.
    """
    aim = ast.dump(wanted)
    for wrapped in (False, True):
        for writer in (_Writer(text, depth) for depth in ("expression", "statement", "function")):
            cuts = sorted(writer.cuts(wanted, wrapped=wrapped), key=lambda cut: -cut.start)
            raw = text.encode()
            for cut in cuts:
                raw = raw[: cut.start] + cut.text.encode() + raw[cut.stop :]
            if _reads_as(raw.decode("utf-8", "replace"), aim):
                return raw.decode()
    return ast.unparse(wanted) + "\n"


def _reads_as(text: str, aim: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == aim
    except (SyntaxError, ValueError):
        return False


class _Writer:
    """Finds the cuts (replacements of text) that turn a text into one with a wanted tree.

    `depth` is the smallest unit that is replaced as a whole.
    """

    def __init__(self, text: str, depth: str) -> None:
        self._raw, self._depth = text.encode(), depth
        self._tree = ast.parse(text)
        self._starts = [0]
        for line in self._raw.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._double = text.count('"') >= text.count("'")
        self._sources = {ast.dump(node): node for node in ast.walk(self._tree) if isinstance(node, ast.stmt)}

    def cuts(self, wanted: ast.Module, *, wrapped: bool) -> Iterator[_Cut]:
        """Yield the cuts that result in the wanted tree; `wrapped` puts replaced expressions into parentheses."""
        yield from self._differences(self._tree, wanted, wrapped=wrapped)

    def _differences(self, old: Any, new: Any, *, wrapped: bool) -> Iterator[_Cut]:
        if ast.dump(old) == ast.dump(new):
            return
        inner = self._inner(old, new, wrapped=wrapped)
        if inner is None:
            yield self._replace_node(old, new, wrapped=wrapped)
        else:
            yield from inner

    def _inner(self, old: Any, new: Any, *, wrapped: bool) -> list[_Cut] | None:
        """Return the cuts inside two nodes; None if the nodes must be replaced as a whole."""
        if type(old) is not type(new) or self._is_smallest(old):
            return None
        cuts = list[_Cut]()
        for name, before in ast.iter_fields(old):
            after = getattr(new, name)
            if _is_block(before) or _is_block(after):
                if not before:
                    return None
                cuts += self._of_block(before, after, wrapped=wrapped)
            elif isinstance(before, ast.expr) and isinstance(after, ast.expr):
                cuts += self._differences(before, after, wrapped=wrapped)
            elif isinstance(before, list) and _pairs(before, after):
                for old_part, other in zip(before, after, strict=True):
                    cuts += self._differences(old_part, other, wrapped=wrapped)
            elif _dump(before) != _dump(after):
                sign = self._sign(old, name, before, after)
                if sign is None:
                    return None
                cuts += sign
        return cuts

    def _sign(self, old: Any, field: str, before: Any, after: Any) -> list[_Cut] | None:
        """Return the cuts that replace operators in the gaps between their operands; None if that is impossible."""
        if field == "ops" and len(before) == len(after):
            operands = [old.left, *old.comparators]
            gaps = list(zip(operands, operands[1:], before, after, strict=False))
        elif field == "op" and isinstance(old, ast.BinOp):
            gaps = [(old.left, old.right, before, after)]
        elif field == "op" and isinstance(old, ast.AugAssign):
            gaps = [(old.target, old.value, before, after)]
        else:
            return None
        cuts = [self._in_gap(*gap) for gap in gaps if type(gap[2]) is not type(gap[3])]
        return None if None in cuts else [cut for cut in cuts if cut]

    def _in_gap(self, left: Any, right: Any, before: ast.AST, after: ast.AST) -> _Cut | None:
        start, stop = self._at(left.end_lineno, left.end_col_offset), self._at(right.lineno, right.col_offset)
        sign = rb"\s+".join(re.escape(word) for word in _SIGNS[type(before)].encode().split())
        match = re.fullmatch(rb"([\s()\\]*)(" + sign + rb")(=?[\s()\\]*)", self._raw[start:stop])
        if not match:
            return None
        return _Cut(start=start + match.start(2), stop=start + match.end(2), text=_SIGNS[type(after)])

    def _is_smallest(self, node: ast.AST) -> bool:
        if self._depth == "function":
            return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr)
        return self._depth == "statement" and isinstance(node, ast.stmt) and not hasattr(node, "body")

    def _replace_node(self, old: Any, new: Any, *, wrapped: bool) -> _Cut:
        if isinstance(old, ast.stmt):
            return self._statements([old], [new])
        text = self._quote(ast.unparse(new))
        needs = wrapped and isinstance(new, ast.expr) and not isinstance(new, ast.Name | ast.Constant | ast.Call)
        start = self._at(old.lineno, old.col_offset)
        stop = self._at(old.end_lineno, old.end_col_offset)
        return _Cut(start=start, stop=stop, text=f"({text})" if needs else text)

    def _of_block(self, before: list[Any], after: list[Any], *, wrapped: bool) -> list[_Cut]:
        """Return the cuts in a list of statements; equal statements at both ends stay."""
        olds, news = [ast.dump(node) for node in before], [ast.dump(node) for node in after]
        if olds == news:
            return []
        head = 0
        while head < min(len(olds), len(news)) and olds[head] == news[head]:
            head += 1
        tail = 0
        while tail < min(len(olds), len(news)) - head and olds[-1 - tail] == news[-1 - tail]:
            tail += 1
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        if len(old) == len(new):
            pairs = zip(old, new, strict=True)
            return [cut for statement, other in pairs for cut in self._differences(statement, other, wrapped=wrapped)]
        if old:
            return [self._statements(old, new)]
        return [self._insert(before, head, new)]

    def _statements(self, old: list[Any], new: list[Any]) -> _Cut:
        """Return the cut that replaces whole lines, from the first statement to the last."""
        indent = old[0].col_offset
        first = min([old[0].lineno, *(d.lineno for d in getattr(old[0], "decorator_list", ()))])
        start, stop = self._starts[first - 1], self._starts[old[-1].end_lineno]
        return _Cut(start=start, stop=stop, text=self._lines(new, indent))

    def _insert(self, block: list[Any], index: int, new: list[Any]) -> _Cut:
        before = block[index - 1] if index else block[0]
        line = before.end_lineno if index else min([before.lineno, *(d.lineno for d in _decorators(before))]) - 1
        offset = self._starts[line]
        lead = "\n" if offset and self._raw[offset - 1 : offset] != b"\n" else ""
        return _Cut(start=offset, stop=offset, text=lead + self._lines(new, before.col_offset))

    def _lines(self, statements: list[Any], indent: int) -> str:
        lines = [line for statement in statements for line in self._source(statement)]
        return "".join(f"{' ' * indent}{line}\n" if line.strip() else "\n" for line in lines)

    def _source(self, statement: Any) -> list[str]:
        """Return the lines of a statement, taken from the file if the statement was moved or copied."""
        original = self._sources.get(ast.dump(statement))
        segment = ast.get_source_segment(self._raw.decode(), original) if original else None
        if original is None or not segment:
            return self._quote(ast.unparse(statement)).split("\n")
        lines = segment.split("\n")
        return [lines[0], *(re.sub(f"^ {{0,{original.col_offset}}}", "", line) for line in lines[1:])]

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _quote(self, text: str) -> str:
        """Return the text with the quotation marks that the file prefers."""
        if not self._double:
            return text
        rows, lines = list(text.split("\n")), text
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(lines).readline))
        except (tokenize.TokenError, IndentationError, SyntaxError):
            return text
        for token in reversed(tokens):
            (row, first), (end_row, last) = token.start, token.end
            if token.type == tokenize.STRING and row == end_row and re.fullmatch(r"[rb]?'[^'\"\\]*'", token.string):
                line = rows[row - 1]
                rows[row - 1] = line[:first] + token.string.replace("'", '"') + line[last:]
        return "\n".join(rows)


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _pairs(before: list[Any], after: Any) -> bool:
    """Check whether two lists of nodes can be compared one by one."""
    alike = isinstance(after, list) and len(before) == len(after)
    return (
        alike and all(hasattr(node, "lineno") for node in before) and all(isinstance(node, ast.AST) for node in after)
    )


def _dump(value: Any) -> str:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    return "[" + ",".join(map(_dump, value)) + "]" if isinstance(value, list) else repr(value)


def _decorators(node: Any) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", ()))
