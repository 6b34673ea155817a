"""Formats a change for reviewers: numbered lines, in pieces that each fit into a prompt. No piece is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from nightshift.agent.view import View
from nightshift.core.code.tree import Tree
from nightshift.core.gauge import Gauge, utf8_size
from nightshift.core.tasks.task import Change, TaskSpec

_AROUND = 8
_LINE_CHARS = 1000
_PLAIN = Gauge()


def pieces(tree: Tree, spec: TaskSpec, change: Change, budget_tokens: int, gauge: Gauge = _PLAIN) -> list[str]:
    """Split the whole change into as few pieces as the budget allows; a file longer than a piece is cut between lines.

    Lines are compared with the state before the agent began: the base, and the files that came with the task.
    """
    limit, groups = max(400, int(budget_tokens * gauge.bytes_per_token)), list[list[str]]()
    space = 0
    for text in _blocks(tree, spec.files, change, limit):
        if not groups or utf8_size(text) > space:
            groups.append([])
            space = limit
        groups[-1].append(text)
        space -= utf8_size(text)
    return list(map("\n\n".join, groups))


def _blocks(tree: Tree, given: Mapping[str, str], change: Change, limit: int) -> Iterator[str]:
    base, now = View(tree, {}), View(tree, change)
    for path in sorted(change):
        before, after = given.get(path, base.text(path)), now.text(path)
        if before == after:
            continue
        head = f"{path} ({'removed' if after is None else 'new' if before is None else 'changed'})"
        body = list(_lines((before or "").split("\n"), (after or "").split("\n"))) if after is not None else []
        for part in _parts(body, max(200, limit - utf8_size(head) - 20)):
            yield "\n".join([head, *part])


def _lines(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines of a diff, numbered as in the new file, with `_AROUND` unchanged lines around each change."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_AROUND):
        yield "…"
        for tag, old_from, old_to, new_from, new_to in group:
            if tag != "equal":
                yield from (f"      - {line[:_LINE_CHARS]}" for line in before[old_from:old_to])
            sign = " " if tag == "equal" else "+"
            yield from (f"{n + 1:>5} {sign} {after[n][:_LINE_CHARS]}" for n in range(new_from, new_to))


def _parts(lines: list[str], limit: int) -> Iterator[list[str]]:
    part, length = list[str](), 0
    for line in lines:
        if part and length + utf8_size(line) + 1 > limit:
            yield part
            part, length = [], 0
        part.append(line)
        length += utf8_size(line) + 1
    yield part
