"""The parts of a long file that a task is about, and an outline of the rest.

A file is split into its functions, methods, class heads and assignments (other texts into blocks of lines). Each part
is weighed by the names and the rare words that it shares with the task. The heaviest parts that fit are shown whole, in
the file's order. Their line numbers are above them and not in them, so that a quoted text can be edited unchanged.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nightshift.agent import golang_outline, javascript_outline
from nightshift.agent.file_ranking import NAME, Interest
from nightshift.agent.prompt.text import code_block
from nightshift.agent.python_outline import first_line, parse_python, signatures
from nightshift.agent.symbols import words_of
from nightshift.core.code import golang, javascript
from nightshift.core.gauge import Gauge

MOST_LINES = 60
"""Maximum number of lines in the outline of a file."""
_LINE_CHARS = 160
_BLOCK_LINES, _LONG_LINES = 30, 150
_NAMED, _MEMBER, _USES, _SPOKEN, _HEAD = 12.0, 8.0, 8.0, 3.0, 0.5
"""Weights of parts of a file. In order, they are for: a part whose name the task writes as code, a member of a class
whose name the task writes as code, a part that uses a rare name, a part whose name the task writes as an ordinary
word, and the head of the file.
"""
_LEAST, _LEAST_WEIGHT = 0.4, 1.0
"""Minimum weights of a part that is shown: a share of the highest weight in the file, and an absolute weight. Members
of a class that the task names are shown even below them.
"""
_GAP_LINES = 3
_OUTLINE_SHARE = 0.3
_FRAME = 30
"""Tokens of a part's first line and its fence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a file, with its first and last line (counted from 1).

    `holder` is the class that the part is a member of.

    A very long function is split into several parts with the same name. `opens` is True only for the first of them.
    """

    first: int
    last: int
    name: str = ""
    holder: str = ""
    opens: bool = True


def face(path: str, text: str) -> list[str]:
    """Return the signatures of a file of Python, JavaScript, TypeScript or Go; empty for other files."""
    if golang.is_source(path):
        return golang_outline.signatures(text)
    return javascript_outline.signatures(path, text) if javascript.is_source(path) else signatures(text)


def outline(path: str, text: str, interest: Interest | None = None, most: int = MOST_LINES) -> str:
    """Outline a file by its signatures; those that the task mentions, then top-level ones, take precedence.

    Decorators are dropped first if there is no room for all lines.
    """
    lines = face(path, text)
    if len(lines) > most:
        lines = [line for line in lines if not line.lstrip().startswith("@")]
    about = interest or Interest()
    named = about.names | about.plain_names

    def rank_line(at: int) -> tuple[bool, int, bool, int]:
        shared = len(words_of(lines[at].partition("(")[0]) & about.words)
        return named.isdisjoint(NAME.findall(lines[at])[:4]), -shared, lines[at].startswith((" ", ".")), at

    shown = sorted(sorted(range(len(lines)), key=rank_line)[:most])
    more = [f"    … and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([f"{path}:", *("    " + _short(lines[at]) for at in shown), *more])


def _short(line: str) -> str:
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


def excerpt(path: str, text: str, interest: Interest, space: int, gauge: Gauge) -> str:
    """Return the parts that matter most, with an outline below, within `space` tokens; empty if no part fits."""
    shapes = (outline(path, text, interest, most) for most in (MOST_LINES, MOST_LINES // 3))
    fitting = (shape for shape in shapes if "\n    " in shape and gauge.tokens(shape) <= space * _OUTLINE_SHARE)
    about = next(fitting, "")
    lines = text.split("\n")
    space -= gauge.tokens(about) if about else 0
    chosen = _choose_parts(parts(path, text), lines, interest, space, gauge)
    if not chosen:
        return ""
    shown = [
        f"{path}, lines {first} to {last} of {len(lines)}:\n{code_block(path, chr(10).join(lines[first - 1 : last]))}"
        for first, last in _join_parts(chosen)
    ]
    return "\n\n".join([*shown, *([f"All that it defines:\n{about}"] if about else [])])


def _choose_parts(
    all_parts: Sequence[Part], lines: Sequence[str], interest: Interest, space: int, gauge: Gauge
) -> list[Part]:
    """Choose the heaviest parts that fit together."""
    weights = dict(zip(all_parts, _weights(all_parts, lines, interest), strict=True))
    least = max(_LEAST_WEIGHT, min(_LEAST * max(weights.values(), default=0.0), _MEMBER))
    chosen = list[Part]()
    for part in sorted(all_parts, key=lambda part: (-weights[part], part.first)):
        if weights[part] < least:
            break
        space -= (size := gauge.tokens("\n".join(lines[part.first - 1 : part.last])) + _FRAME)
        if space < 0:
            space += size
        else:
            chosen.append(part)
    return chosen


def _weights(all_parts: Sequence[Part], lines: Sequence[str], interest: Interest) -> list[float]:
    texts = ["\n".join(lines[part.first - 1 : part.last]) for part in all_parts]
    shared = [words_of(text) & interest.words for text in texts]
    frequency = Counter(word for words in shared for word in words)
    uses = [
        interest.names.intersection(NAME.findall(text)) - {part.name}
        for part, text in zip(all_parts, texts, strict=True)
    ]
    used = Counter(name for names in uses for name in names)
    weights = list[float]()
    for part, words, names in zip(all_parts, shared, uses, strict=True):
        length = 1 + (part.last - part.first) / 40
        weight = sum(math.log(1 + len(all_parts) / frequency[word]) for word in words) / math.sqrt(length)
        weight += sum(math.log(1 + len(all_parts) / frequency[word]) for word in words & words_of(part.name))
        weight += _NAMED * (part.name in interest.names and part.opens) + _MEMBER * (part.holder in interest.names)
        weight += _USES * max((_rarity(used[name], len(all_parts)) for name in names), default=0.0)
        weight += _SPOKEN * (part.name in interest.plain_names) + _HEAD * (part.first == 1)
        weights.append(weight)
    return weights


def _rarity(holders: int, parts: int) -> float:
    """Return the rarity of a name: 1 if only one of many parts has it, 0 if all parts have it."""
    return math.log(parts / holders) / math.log(parts) if parts > 1 else 0.0


def _join_parts(chosen: Sequence[Part]) -> list[tuple[int, int]]:
    """Return the parts as sorted line ranges; parts that nearly touch are merged."""
    ranges = list[tuple[int, int]]()
    for part in sorted(chosen, key=lambda part: part.first):
        if ranges and part.first - ranges[-1][1] <= _GAP_LINES:
            ranges[-1] = (ranges[-1][0], max(part.last, ranges[-1][1]))
        else:
            ranges.append((part.first, part.last))
    return ranges


def parts(path: str, text: str) -> list[Part]:
    """Split a text into parts, in order; lines between parts belong to none."""
    source_parts = list(_of_source(path, text))
    if not source_parts:
        return list(_blocks(text))
    head = source_parts[0].first - 1
    return [*([Part(first=1, last=head)] if head else []), *(piece for part in source_parts for piece in _pieces(part))]


def _of_source(path: str, text: str) -> Iterable[Part]:
    if golang.is_source(path):
        return (Part(first=first, last=last, name=name) for first, last, name in golang_outline.parts(text))
    if javascript.is_source(path):
        return _javascript(path, text)
    return _python(text) if path.endswith(".py") else ()


def _pieces(part: Part) -> Iterator[Part]:
    """Yield the part, or several parts of the same name if it is very long."""
    step = part.last - part.first + 1 if part.last - part.first < _LONG_LINES else _BLOCK_LINES
    for first in range(part.first, part.last + 1, step):
        yield replace(part, first=first, last=min(part.last, first + step - 1), opens=first == part.first)


def _python(text: str) -> Iterator[Part]:
    tree = parse_python(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef):
            first = True
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    begin = first_line(member)
                    if first:
                        yield Part(first=first_line(node), last=max(begin - 1, node.lineno), name=node.name)
                    first = False
                    yield Part(first=begin, last=member.end_lineno or begin, name=member.name, holder=node.name)
            if first:
                yield Part(first=first_line(node), last=node.end_lineno or node.lineno, name=node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Part(first=first_line(node), last=node.end_lineno or node.lineno, name=node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = target.id if isinstance(target, ast.Name) else ""
            yield Part(first=node.lineno, last=node.end_lineno or node.lineno, name=name)


def _javascript(path: str, text: str) -> Iterator[Part]:
    for top in javascript.parse(path, text).named_children:
        node = (top.child_by_field_name("declaration") or top) if top.type == "export_statement" else top
        name = javascript.node_text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        members = [child for child in body.named_children if child.type == "method_definition"] if body else []
        begin, end = top.start_point[0] + 1, top.end_point[0] + 1
        if node.type != "class_declaration" or not members:
            yield Part(first=begin, last=end, name=name)
            continue
        yield Part(first=begin, last=max(begin, members[0].start_point[0]), name=name)
        for member in members:
            of = javascript.node_text(member.child_by_field_name("name"))
            yield Part(first=member.start_point[0] + 1, last=member.end_point[0] + 1, name=of, holder=name)


def _blocks(text: str) -> Iterator[Part]:
    count = text.count("\n") + 1
    for first in range(1, count + 1, _BLOCK_LINES):
        yield Part(first=first, last=min(count, first + _BLOCK_LINES - 1))
