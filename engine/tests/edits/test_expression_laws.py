"""Laws of every edit of an expression: it compiles, it changes something, and it leaves the original tree unchanged."""

import ast
import warnings
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift_engine.edit import Edit, EditContext, vocabulary
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.tree import at, places, scopes
from tests.support import tiers

MARKET = '''
import math
from collections import deque

LIMIT = 10


def cheapest(stalls, wanted, *, most=LIMIT):
    """The cheapest stall, "none" for 3 tries."""
    best, price = None, float("inf")
    for name, goods in stalls.items():
        if wanted not in goods or goods[wanted] is None:
            continue
        cost = goods[wanted] + (0 if name == "near" else 1)
        if cost < price and 0 <= cost <= most:
            best, price = name, cost
    return best


def rounds(n, step=1):
    queue = deque([n])
    seen = set()
    while queue:
        k = queue.popleft()
        if k in seen:
            continue
        seen.add(k)
        queue.extend(m for m in range(k - step, k + step + 1) if m > 0 and m % 2)
    return sorted(seen, key=lambda one: (-one, abs(one)), reverse=True)[1:-1]


def spiral(grid: list) -> list:
    out = []
    top: int = 0
    left: int = 0
    while grid and (first := grid[0]):
        out += first
        grid = [list(row) for row in zip(*grid[1:])][::-1]
        top += 1; left -= ~top & 3
    assert len(out) >= left, f"{len(out)} of {left + 1:>{top}} {math.floor(left)!r:>5}"
    return out or [math.floor(math.inf if top else 0)]
'''
SHOP = """
import asyncio


class Till:
    rate = 2 * 3

    def __init__(self, cash=0, log=()):
        self.cash, self.log = cash, list(log)
        self.names = {"a": 1, **{}}

    @property
    def level(self):
        return self.cash

    async def pay(self, amount: int, /, to=None, *rest, **more) -> bool:
        async with asyncio.Lock():
            try:
                if not amount or self.level() is None:
                    raise ValueError("nothing to pay")
                self.log[-1], self.cash = amount, self.cash - amount
                await self.tell(to, *rest, **more)
            except (KeyError, ValueError) as error:
                self.log.append(str(error).strip())
                return False
            finally:
                del self.names["a"]
        return [x async for x in self.each() if x is not amount] == [None]

    async def each(self):
        for item in self.log:
            yield item

    async def tell(self, to, note=""):
        match to:
            case [first, *_] if first > 0:
                return {first: note for note in to}
            case {"name": str(name)}:
                return name[0] + "-" * self.rate
        return lambda x, y=self.rate: x + y

    @staticmethod
    def parts(text):
        def inner(n=len(text)):
            nonlocal text
            text = text[:n].lower() + "!"
            return (yield from inner(n - 1)) if n else text.split(",", 1)

        return inner
"""
CORPUS = (MARKET, SHOP)


def grounds() -> list[EditContext]:
    contexts = []
    for text in CORPUS:
        tree = ast.parse(text)
        words = vocabulary(text)
        for scope in scopes(tree):
            lines = dict.fromkeys((n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt)), 1.0)
            contexts.append(EditContext(path="a.py", tree=tree, scope=scope.position, lines=lines, words=words))
    return contexts


GROUNDS = grounds()


def edits(context: EditContext) -> Iterator[Edit]:
    for operator in EXPRESSION_EDITS:
        yield from operator(context)


@cache
def every(number: int) -> tuple[EditContext, list[Edit]]:
    return GROUNDS[number], list(edits(GROUNDS[number]))


@cache
def unparse(number: int) -> str:
    return ast.unparse(GROUNDS[number].tree)


@given(st.data())
@settings(max_examples=tiers.examples(250), deadline=None)
def test_every_edit_compiles_without_a_warning_and_changes_the_text(data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(GROUNDS) - 1))
    context, drawn_edits = every(number)
    edit = data.draw(st.sampled_from(drawn_edits))
    text = ast.unparse(edit.apply(context.tree))
    assert text != unparse(number)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(text, "a.py", "exec")
    assert 0 < edit.weight <= 1.0
    assert edit.line in context.lines
    assert edit.note


@pytest.mark.parametrize("number", range(len(GROUNDS)))
def test_no_generator_changes_the_tree_it_works_on(number: int) -> None:
    context, all_edits = every(number)
    before = ast.dump(context.tree)
    for edit in all_edits[::7]:
        edit.apply(context.tree)
    assert ast.dump(context.tree) == before == ast.dump(ast.parse(unparse(number)))


@pytest.mark.parametrize("number", range(len(GROUNDS)))
def test_edits_begin_inside_their_scope_and_never_in_heads_formats_or_annotations(number: int) -> None:
    context, all_edits = every(number)
    for edit in all_edits:
        assert edit.position[: len(context.scope)] == context.scope
        way = [at(context.tree, edit.position[:end]) for end in range(len(context.scope), len(edit.position))]
        fields = [field for field, _ in edit.position[len(context.scope) :]]
        assert not any(isinstance(node, ast.pattern) for node in way)
        assert not {"annotation", "returns", "decorator_list", "bases", "format_spec", "conversion"} & set(fields)
        if context.scope:
            assert fields[0] == "body"
        elif any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in way):
            assert {"defaults", "kw_defaults"} & set(fields)


@pytest.mark.parametrize("number", range(len(GROUNDS)))
def test_edits_begin_only_in_lines_that_are_suspected(number: int) -> None:
    context, _ = every(number)
    lines = dict(list(context.lines.items())[::3])
    few = EditContext(path="a.py", tree=context.tree, scope=context.scope, lines=lines, words=context.words)
    assert all(edit.line in lines for edit in edits(few))


def test_a_tree_whose_new_nodes_have_no_locations_can_be_edited_again() -> None:
    context, all_edits = every(0)
    for edit in all_edits[::199]:
        again = EditContext(path="a.py", tree=edit.apply(context.tree), scope=context.scope, lines=context.lines)
        for second in list(edits(again))[::41]:
            assert ast.unparse(second.apply(again.tree))


def test_a_function_of_twenty_lines_has_fewer_edits_than_a_search_can_try() -> None:
    assert max(len(every(number)[1]) for number in range(len(GROUNDS))) < 6000


def test_no_literal_is_held_by_identity_taken_an_item_from_or_a_condition() -> None:
    tree = ast.parse("def f(a: list, b):\n    c = a is b\n    d = a[0]\n    if b:\n        return [1], (2, 3), 4 * 5\n")
    context = EditContext(path="a.py", tree=tree, scope=(("body", 0),), lines=dict.fromkeys((2, 3, 4, 5), 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for edit in edits(context):
            compile(ast.unparse(edit.apply(tree)), "a.py", "exec")
            condition = edit.position[-1] == ("test", None)
            assert not (condition and isinstance(edit.new[0], ast.List | ast.Tuple))


def test_names_that_have_no_value_at_a_place_come_later_than_those_that_have() -> None:
    tree = ast.parse("def f(a: int):\n    x = a\n    b = 1\n    return b\n")
    context = EditContext(path="a.py", tree=tree, scope=(("body", 0),), lines={2: 1.0})
    weights = {edit.note: edit.weight for edit in edits(context) if edit.kind == "name"}
    assert weights["`a` becomes `b`"] < 0.2
    assert len(list(places(tree))) > 10
