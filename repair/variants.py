"""Variants of a file in the order of their likelihood: edits laid over a tree, none whose text was seen before.

An edit is as likely as its kind (`Edit.weight`) where a fault is as likely as its line (`Suspect.lines`). All edits of
a stream are made at once, which is cheap, and sorted; texts are made when they are asked for, which is not.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from repair.edit import Edit, Generator
from repair.edits import EXPRESSIONS
from repair.edits.statement_set import STATEMENT_EDITS
from repair.evaluation import Candidate, Sight
from repair.ground import Ground, Vocabulary
from repair.localise import Suspect
from repair.tree import at

GENERATORS: tuple[Generator, ...] = (*EXPRESSIONS, *STATEMENT_EDITS)
MOST_EDITS = 40_000
"""So many edits of one stream are kept; what is less likely is let go."""
NONSENSE = 0.03
SHARPNESS = 2.0
"""The power of a line's suspicion in an edit's likelihood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A file with edits.

    `tree` is the whole file's, `text` that of the scope. `likelihood` is the product over its edits; `places` tell what
    was edited, in words.
    """

    path: str
    scope: str
    tree: ast.Module
    text: str
    edits: tuple[Edit, ...]
    likelihood: float

    @property
    def candidate(self) -> Candidate:
        """As the sandbox takes it."""
        return Candidate(path=self.path, scope=self.scope, text=self.text)

    @property
    def kind(self) -> str:
        """The kinds of its edits."""
        return "+".join(edit.kind for edit in self.edits)


@dataclass(slots=True)
class Known:
    """What was seen: texts of scopes, so that no two variants are tried that read the same."""

    texts: set[tuple[str, str, str]] = field(default_factory=set)

    def is_new(self, path: str, scope: str, text: str) -> bool:
        """Tell whether a text comes for the first time, and remember it."""
        before = len(self.texts)
        self.texts.add((path, scope, text))
        return len(self.texts) > before


class Stream:
    """The variants that come of one edit to the suspected scopes of some trees, the likeliest first.

    Args:
        trees: path to syntax tree.
        suspects: where to edit.
        sight: what the tests were seen to do.
        words: what edits may use, by path.
        known: the texts that were tried; grows.
        before: the edits that the trees hold already.
        likelihood: that of those edits together.
    """

    def __init__(
        self,
        trees: Mapping[str, ast.Module],
        suspects: Sequence[Suspect],
        sight: Sight,
        words: Mapping[str, Vocabulary],
        known: Known,
        *,
        before: tuple[Edit, ...] = (),
        likelihood: float = 1.0,
    ) -> None:
        self._trees, self._known, self._before, self._base = trees, known, before, likelihood
        for suspect in suspects:  # a variant that reads as what there is changes nothing
            known.is_new(suspect.path, suspect.scope.name, _text(trees[suspect.path], suspect))
        found = [
            (edit.weight * _suspicion(suspect, edit) * _sense(trees[suspect.path], edit), number, edit, suspect)
            for suspect in suspects
            for number, edit in enumerate(_edits(trees[suspect.path], suspect, sight, words.get(suspect.path)))
        ]
        found.sort(key=lambda entry: (-entry[0], entry[1]))
        self._queue, self._next = found[:MOST_EDITS], 0

    @property
    def size(self) -> int:
        """How many edits there are, those that read the same counted each."""
        return len(self._queue)

    @property
    def left(self) -> int:
        """How many of them were not looked at yet."""
        return len(self._queue) - self._next

    @property
    def likelihood(self) -> float:
        """That of the next variant; 0 at the end."""
        return self._base * self._queue[self._next][0] if self.left else 0.0

    def __iter__(self) -> Iterator[Variant]:
        while self.left:
            likelihood = self.likelihood
            _, _, edit, suspect = self._queue[self._next]
            self._next += 1
            if variant := self._variant(edit, suspect, likelihood):
                yield variant

    def _variant(self, edit: Edit, suspect: Suspect, likelihood: float) -> Variant | None:
        tree = edit.apply(self._trees[suspect.path])
        try:
            text = _text(tree, suspect)
        except (ValueError, RecursionError):  # what cannot be written as text is no program
            return None
        if not self._known.is_new(suspect.path, suspect.scope.name, text):
            return None
        return Variant(
            path=suspect.path,
            scope=suspect.scope.name,
            tree=tree,
            text=text,
            edits=(*self._before, edit),
            likelihood=likelihood,
        )


class Merged:
    """Several streams as one."""

    def __init__(self) -> None:
        self._streams = list[tuple[Iterator[Variant], Stream]]()
        self._heap = list[tuple[float, int]]()

    def add(self, stream: Stream) -> None:
        """Take the variants of another stream as well."""
        self._streams.append((iter(stream), stream))
        self._push(len(self._streams) - 1)

    def take(self, most: int) -> list[Variant]:
        """The next variants."""
        taken = list[Variant]()
        while self._heap and len(taken) < most:
            _, number = heapq.heappop(self._heap)
            if variant := next(self._streams[number][0], None):
                taken.append(variant)
            self._push(number)
        return taken

    def _push(self, number: int) -> None:
        if (stream := self._streams[number][1]).left:
            heapq.heappush(self._heap, (-stream.likelihood, number))


def _edits(tree: ast.Module, suspect: Suspect, sight: Sight, words: Vocabulary | None) -> Iterable[Edit]:
    troubles = [test.trouble for test in sight.failing if test.trouble] + list(sight.broken.values())
    ground = Ground(
        path=suspect.path,
        tree=tree,
        scope=suspect.scope.place,
        lines=suspect.lines,
        kinds=sight.kinds.get(f"{suspect.path}:{suspect.scope.name}", {}),
        words=words or Vocabulary(),
        troubles=tuple(dict.fromkeys((trouble.kind, trouble.message) for trouble in troubles)),
    )
    for generator in GENERATORS:
        yield from generator(ground)


def _suspicion(suspect: Suspect, edit: Edit) -> float:
    score = suspect.lines.get(edit.line, min(suspect.lines.values()) / 2)
    return float(score**SHARPNESS)


def _sense(tree: ast.Module, edit: Edit) -> float:
    """Less where an edit makes both sides of an operator the same, as in `x - x`: hardly anyone meant that."""
    if edit.count is not None or not edit.place:
        return 1.0
    here, new = at(tree, edit.place), edit.new[0]
    beside = [ast.dump(side) for side in _sides(at(tree, edit.place[:-1])) if side is not here]
    within = [ast.dump(side) for side in _sides(new)]
    return NONSENSE if (beside and ast.dump(new) in beside) or len(set(within)) < len(within) else 1.0


def _sides(node: ast.AST) -> list[ast.expr]:
    """What an operator stands between, if it is one that makes little of two equal sides."""
    match node:
        case ast.BinOp(left=left, right=right, op=ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.BitXor()):
            return [left, right]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BoolOp(values=values):
            return values
    return []


def _text(tree: ast.Module, suspect: Suspect) -> str:
    return ast.unparse(at(tree, suspect.scope.place))
