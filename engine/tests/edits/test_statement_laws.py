"""Laws of every edit of a statement: it compiles, it changes something, and it leaves the original tree unchanged."""

import ast

import pytest

from nightshift_engine.edit import Edit, EditContext
from nightshift_engine.edits import STATEMENT_EDITS
from nightshift_engine.tree import Function, Place, places

PROGRAMS = {
    "loops": '''
import math

LIMIT = 10

class Crate:
    def __init__(self, width, inside=None):
        self.width = width
        self.inside = inside

def shelve(crates, room, start=0):
    """Put crates on shelves."""
    shelves = []
    used = 0
    last = None
    for i, crate in enumerate(crates):
        if crate.width > room or used + crate.width > room:
            shelves.append([])
            used = 0
        elif last is None:
            shelves.append([crate])
        while used < room and i < len(crates):
            used += crate.width
            i += 1
        if last and last.inside.width == crate.width:
            continue
        shelves[-1].append(crate)
        last = crate
    low, high = used, room
    if low < high:
        return shelves
    return [] if used == 0 else shelves
''',
    "method": '''
class Register:
    """Counts words."""

    limit = 3

    def __init__(self, words=[]):
        self.counts = {}
        self.words = words

    def add(self, text, times=1):
        try:
            number = int(text)
        except TypeError:
            number = self.counts[text]
        else:
            return number
        finally:
            self.words.append(text)
        with open(text) as file:
            for line in file:
                if not line:
                    break
                self.counts[line] += times
                counts = line
        match text:
            case "a" if times > 1:
                return 1
            case _:
                pass
        assert number > 0, text
        raise ValueError(text)
''',
    "nested": '''
total = 0

def make(start):
    """Make a counter."""
    count = start
    names = {}

    def step(by=1):
        nonlocal count
        global total
        count += by
        total = total + count
        if count > 10:
            return None
        for name in sorted(names, key=lambda each: -names[each]):
            yield name
            yield from names[name]
        return

    class Inner:
        size = 2

        def grow(self):
            self.size += 1
            return [part for part in range(self.size) if part % 2 if part]

    return step
''',
    "waiting": """
async def gather(jobs, limit):
    done = []
    async with limit as gate:
        async for job in jobs:
            if job.late:
                continue
            result = await job.run(gate)
            done.append(result)
            yield result
    try:
        await gate.close()
    except* ValueError as errors:
        for error in errors.exceptions:
            done.append(error)
""",
    "plain": """
def one(value):
    return value


def two(values):
    pass
""",
    "module": '''
"""A module."""
from __future__ import annotations

import os

SIZES = [1, 2]
total = 0
for size in SIZES:
    if size > 1:
        total += size
    else:
        continue


class Box:
    """A box."""

    sides = 4
    names = {}
    if sides > 3:
        names["four"] = 4

    def open(self, parts={}):
        return parts
''',
}


def grounds(source: str) -> list[EditContext]:
    tree = ast.parse(source)
    positions: list[Place] = []
    for position, node in places(tree):
        if isinstance(node, Function) and not any(position[: len(outer)] == outer for outer in positions):
            positions.append(position)
    lines = dict.fromkeys(range(1, source.count("\n") + 1), 1.0)
    return [EditContext(path="a.py", tree=tree, scope=scope, lines=lines) for scope in [(), *positions]]


def all_edits(context: EditContext) -> list[Edit]:
    return [edit for make in STATEMENT_EDITS for edit in make(context)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_edited_tree_compiles_and_differs_and_its_edit_has_a_weight_and_a_line(name: str) -> None:
    for context in grounds(PROGRAMS[name]):
        before, original = ast.dump(context.tree), ast.unparse(context.tree)
        for edit in all_edits(context):
            text = ast.unparse(edit.apply(context.tree))
            assert text != original, edit.note
            assert edit.note
            assert 0 < edit.weight <= 1.2, edit
            assert edit.line in context.lines
            compile(text, "<edited>", "exec", dont_inherit=True)
        assert ast.dump(context.tree) == before


def test_edits_begin_only_at_lines_of_the_ground() -> None:
    context = grounds(PROGRAMS["loops"])[-1]
    lines = {18: 1.0}
    narrow = EditContext(path=context.path, tree=context.tree, scope=context.scope, lines=lines)
    narrow_edits = all_edits(narrow)
    assert narrow_edits
    assert {edit.line for edit in narrow_edits} == {18}


def test_a_scope_without_lines_has_no_edits() -> None:
    context = grounds(PROGRAMS["loops"])[-1]
    assert not all_edits(EditContext(path="a.py", tree=context.tree, scope=context.scope, lines={}))


def test_a_function_of_twenty_lines_has_some_thousand_edits() -> None:
    assert 1000 < len(all_edits(grounds(PROGRAMS["loops"])[-1])) < 5000


def test_edits_of_the_module_leave_functions_alone_but_for_shared_defaults() -> None:
    module = grounds(PROGRAMS["module"])[0]
    module_edits = all_edits(module)
    assert "shared_default" in {edit.kind for edit in module_edits}
    assert max(edit.line for edit in module_edits) == 24  # line of the `def`, before which a statement may be inserted
