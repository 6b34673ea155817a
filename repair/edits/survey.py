"""What the statements of a scope show at a glance: variables, conditions, and what the variables seem to be."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cached_property, lru_cache

from repair.edits.blocks import Block, Site, gaps, own_nodes, sites
from repair.edits.build import Piece, name, negated, piece
from repair.edits.reading import (
    awaited,
    bindings,
    conditions_in,
    memberships,
    outside_functions,
    records,
)
from repair.edits.usage import chain, used_as
from repair.ground import Ground
from repair.inference import inferred
from repair.kinds import CALLABLE, NUMBER, SIZED, UNKNOWN, Kind, Kinds
from repair.scoping import outside
from repair.tree import Function, at

_MOST_NAMES = 12
_BINDING = ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom


class Survey:
    """A ground, looked over once; everything is computed when first asked for."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.node = at(ground.tree, ground.scope)
        self._opposites: dict[str, Piece] = {}
        self._stale: dict[int, frozenset[str]] = {}
        self._own: dict[int, list[ast.AST]] = {}
        self._names: dict[tuple[int, str], list[str]] = {}
        self._read: dict[str, frozenset[str]] = {}
        self.tests: dict[tuple[int, str, int], dict[str, tuple[Piece, float]]] = {}  # kept by `guards`
        self._every: dict[tuple[int, str], frozenset[str]] = {}

    @cached_property
    def gaps(self) -> list[tuple[Block, int, int]]:
        """Where a statement may be put in: (block, index, line)."""
        return list(gaps(self.ground))

    def nodes_of(self, function: Function) -> list[ast.AST]:
        """The nodes of a function without those of functions in it."""
        found = self._own.get(id(function))
        if found is None:
            found = self._own[id(function)] = [node for part in function.body for node in own_nodes(part)]
        return found

    def is_generator(self, function: Function) -> bool:
        """Whether a function is a generator."""
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in self.nodes_of(function))

    @cached_property
    def sites(self) -> list[Site]:
        """The statements where edits may begin."""
        return list(sites(self.ground))

    def suspicion(self, line: int) -> float:
        """The suspicion of a line; a little for lines that have none, so that weights still order them."""
        return max(self.ground.lines.get(line, 0.0), 0.01)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.node)) if self.ground.scope else list(outside_functions(self.node))

    @cached_property
    def bound(self) -> dict[int, dict[str, int]]:
        """For each function (and 0 for the module) the names that it binds, with the line where it first does."""
        found: dict[int, dict[str, int]] = {}
        bindings(self.node, found, found.setdefault(0, {}))
        return found

    def names(self, block: Block) -> list[str]:
        """The variables that a statement of the block can see, the function's own and the nearest first."""
        key = (id(block.owner), block.field)
        if key not in self._names:
            self._names[key] = [text for text in self._bound_around(block) if self.kinds(text) != CALLABLE]
        return self._names[key][:_MOST_NAMES]

    def visible(self, block: Block) -> frozenset[str]:
        """All names that a statement of the block may use, builtins left out."""
        key = (id(block.owner), block.field)
        if key not in self._every:
            self._every[key] = self.globals.union(self._bound_around(block))
        return self._every[key]

    def _bound_around(self, block: Block) -> list[str]:
        found: dict[str, None] = {}
        place: Block | None = block
        while place is not None:
            key = id(place.function) if place.function else 0
            found.update((text, None) for text in self.bound.get(key, ()))
            place = place.above[0] if place.above else None
        return list(found)

    def reassigned(self, block: Block) -> list[str]:
        """The variables of the block's function that it sets itself; parameters that are never set are none."""
        nodes = self.nodes_of(block.function) if block.function else self._nodes
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return [text for text in self.names(block) if text in stored]

    @cached_property
    def lost(self) -> list[str]:
        """Names that the scope's function reads and that nobody binds: what gave them a value is missing."""
        if not self.ground.scope:
            return []
        known = {text for own in self.bound.values() for text in own} | self.globals | set(dir(builtins))
        inner = {
            part.id
            for node in self._nodes
            if isinstance(node, ast.comprehension | ast.NamedExpr)
            for part in ast.walk(node.target)
            if isinstance(part, ast.Name)
        }
        inner |= {node.arg for node in self._nodes if isinstance(node, ast.arg)}
        inner |= {node.name for node in self._nodes if isinstance(node, ast.ExceptHandler) and node.name}
        inner |= {alias.asname or alias.name for node in self._nodes for alias in getattr(node, "names", ())
                  if isinstance(alias, ast.alias)}  # fmt: skip
        if any(isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping) for node in self._nodes):
            return []  # patterns bind names too; what is rare is not taken apart
        read = dict.fromkeys(text for text in self.seen_names(self.node) if text not in known | inner)
        return list(read)[:4]

    def unready(self, block: Block, line: int) -> frozenset[str]:
        """The variables of the block's function that have no value yet before a line, loops left out of account."""
        own = self.bound.get(id(block.function) if block.function else 0, {})
        return frozenset(text for text, first in own.items() if first >= line)

    def bound_at(self, block: Block, variable: str) -> int:
        """The line where the block's function first binds a variable; 0 where it does not."""
        return self.bound.get(id(block.function) if block.function else 0, {}).get(variable, 0)

    @cached_property
    def chains(self) -> list[str]:
        """Dotted chains such as `self.items` that are read in the scope and are not called."""
        called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        nodes = (node for node in self._nodes if isinstance(node, ast.Attribute) and id(node) not in called)
        return list(dict.fromkeys(text for node in nodes if (text := chain(node))))[:_MOST_NAMES]

    @cached_property
    def conditions(self) -> list[tuple[Piece, bool]]:
        """The conditions that occur and bind nothing, each once, and whether it is in the scope; others come last."""
        found: dict[str, tuple[Piece, bool]] = {}
        for nodes, near in ((self._nodes, True), (list(ast.walk(self.ground.tree)), False)):
            for node in nodes:
                for part in conditions_in(node):
                    if not any(isinstance(inner, _BINDING) for inner in ast.walk(part)):
                        made = piece(part)
                        found.setdefault(made.text, (made, near))
        return list(found.values())

    @cached_property
    def texts(self) -> list[str]:
        """Short texts that file and tests hold as constants, the commonest first."""
        return [word for word in self._words if isinstance(word, str)]

    @cached_property
    def numbers(self) -> list[int]:
        """Integers that file and tests hold, the commonest first; the smallest ones are asked about anyway."""
        return [word for word in self._words if type(word) is int and word > 2]

    @cached_property
    def _words(self) -> list[object]:
        return [ast.literal_eval(word) for word in self.ground.words.constants]

    @cached_property
    def looked_into(self) -> frozenset[str]:
        """Variables of which an item is taken under a text."""
        return frozenset(text for node in self._nodes for text in records(node))

    @cached_property
    def awaited(self) -> tuple[tuple[str, str], ...]:
        """The exceptions that the tests wait for, so far as they are known here: (kind, words of its message)."""
        told = dict.fromkeys(pair for text in self.ground.words.texts[1:] for pair in awaited(text))
        return tuple(pair for pair in told if pair[0] in self.globals or pair[0] in dir(builtins))

    @cached_property
    def members(self) -> frozenset[tuple[str, str]]:
        """What is asked to be in what, and what is put into what: (element, holder), both as text."""
        return frozenset(pair for node in self._nodes for pair in memberships(node))

    @cached_property
    def fed(self) -> frozenset[tuple[str, str]]:
        """Variables that are part of what is put into a holder: (variable, holder)."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        return frozenset(
            (found, ast.unparse(node.func.value))
            for node in calls
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"add", "append", "extend"}
            for part in node.args
            for found in self.seen_names(part)
        )

    def negated(self, part: Piece) -> Piece:
        """The opposite of a condition; kept, because the same one is asked at many places."""
        found = self._opposites.get(part.text)
        if found is None:
            found = self._opposites[part.text] = negated(part)
        return found

    def stale(self, block: Block) -> frozenset[str]:
        """Variables that the innermost loop around a block reads and never sets: one of them may lack an update."""
        place: Block | None = block
        while place is not None and not (isinstance(place.owner, ast.For | ast.While) and place.field == "body"):
            place = place.above[0] if place.above and place.loops else None
        if place is None:
            return frozenset()
        if id(place.owner) not in self._stale:
            self._stale[id(place.owner)] = self._never_set(place.owner)
        return self._stale[id(place.owner)]

    def _never_set(self, loop: ast.AST) -> frozenset[str]:
        nodes = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - stored
        return frozenset(text for text in read if not self.sized(text) or "str" in self.kinds(text))

    @cached_property
    def _kinds(self) -> Kinds:
        return inferred(self._nodes, outside(self.ground.tree), self.ground.kinds)

    @cached_property
    def _used(self) -> dict[str, Kind]:
        return used_as(self._nodes)

    def kinds(self, variable: str) -> Kind:
        """The kind of a variable or dotted chain: as seen or told, else as its uses suggest; empty when unknown."""
        return self._kinds.of_name(variable) or self._used.get(variable, UNKNOWN)

    def kind_of(self, node: ast.expr) -> Kind:
        """The kind of an expression."""
        return self.kinds(ast.unparse(node)) if isinstance(node, ast.Name) else self._kinds.of(node)

    def sized(self, variable: str) -> bool:
        """Whether it has a length."""
        return bool(self.kinds(variable) & SIZED)

    def number(self, variable: str) -> bool:
        """Whether it is a number."""
        return bool(self.kinds(variable) & NUMBER)

    def alike(self, one: str, other: str) -> bool:
        """Whether two variables may have values of the same kind."""
        left, right = self.kinds(one), self.kinds(other)
        return bool(left & right) or not left or not right

    def known(self, variable: str) -> bool:
        """Whether anything is known of its type."""
        return bool(self.kinds(variable) - {"NoneType"})

    def names_in(self, part: Piece) -> frozenset[str]:
        """The names that a piece reads; kept, because the same piece is asked about at many places."""
        found = self._read.get(part.text)
        if found is None:
            found = self._read[part.text] = frozenset(self.seen_names(part.node))
        return found

    def seen_names(self, node: ast.AST) -> Iterator[str]:
        """The names that a tree reads."""
        return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    @cached_property
    def globals(self) -> frozenset[str]:
        """The names that the module's own statements bind."""
        names: dict[int, dict[str, int]] = {}
        bindings(self.ground.tree, names, names.setdefault(0, {}))
        return frozenset(names[0])

    def pieces(self, block: Block) -> list[Piece]:
        """The visible variables and dotted chains."""
        return [name(text) for text in (*self.names(block), *self.chains)]


def survey_of(ground: Ground) -> Survey:
    """The survey of a ground, made once for the generators that ask one after the other."""
    return _survey(_Same(ground))


class _Same:
    """A ground as a key: the same object, and no comparison of what it holds."""

    __slots__ = ("ground",)

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def __hash__(self) -> int:
        return id(self.ground)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.ground is self.ground


@lru_cache(maxsize=2)
def _survey(key: _Same) -> Survey:
    return Survey(key.ground)
