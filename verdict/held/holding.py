"""Chooses what is held out of given tests: checks the model does not see, and whose results are compared by value.

How layers 1 to 4 of a verdict play together. The tests as shown are run first, and what fails there is told as always.
If they pass, the held-out cases are run: calls with inputs alone, compared outside. Then the whole given tests are run,
with their copies; nothing but "passed" or "did not" is taken from that to a model, for code in it can read every check
and print it. A failure that only shows in the held-out cases, or only in the whole tests, is told as the name of a
function and the way it went wrong. So each try tells a model a few bits about what it has not seen, and no input and no
result ever. Failures, reflections, memory and later runs are all made of that verdict and need to know nothing of this;
what the cases were is kept beside it, for the owner's eyes.

What is held out follows from the tests' own text, so every attempt, resumption and repetition of them holds out the
same. Only a check that has a like among those that stay is taken, so that the tests as shown still say all that the
whole ones do: the same function, arguments and result of the same types, signs and emptiness. And only one whose inputs
are mentioned nowhere else, neither in the tests nor in the task's words.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from core import literals
from core.held import HeldOut, ValueCase, digest
from core.tasks import Files, Language, TaskSpec
from languages.python.pytest_settings import PytestSettings
from sandbox.source import Source
from verdict.held.extract import Spot, spots
from verdict.held.reduction import removes_holder, without
from verdict.must_fail import suite_paths

ENOUGH = 4
"""Tests with fewer checks than this are shown whole."""
MOST, CANDIDATES = 12, 100
"""More than `MOST` held-out checks prove no more; they are looked for among so many that chance picks."""

_SHORT = 5
_Shape = tuple[Any, ...]


def hold(spec: TaskSpec, paths: Collection[str], share: float) -> HeldOut:
    """What is held out of a task: all of its explicit cases, and a share of the checks in its tests.

    Args:
        spec: the task.
        paths: those of the tree; below a conftest, tests may depend on more than can be seen in them.
        share: of the checks that can be held out; 0 holds out none.
    """
    own = HeldOut(cases=spec.cases, oracle=spec.oracle, sources=("cases",) if spec.cases else ())
    if spec.language is not Language.PYTHON or not spec.tests or share <= 0:
        return own
    if _steered(spec.tests, paths):
        return own
    found = of_tests(spec.tests, spec.description, share)
    return replace(found, cases=(*found.cases, *own.cases), oracle=own.oracle, sources=(*found.sources, *own.sources))


def _steered(tests: Files, paths: Collection[str]) -> bool:
    """Tell whether a conftest is in force where the tests lie."""
    folders = {""} | {path[: at + 1] for path in tests for at, char in enumerate(path) if char == "/"}
    return any(f"{folder}conftest.py" in paths or f"{folder}conftest.py" in tests for folder in folders)


def of_tests(tests: Files, description: str, share: float) -> HeldOut:
    """What is held out of given tests: at least one check where there are enough, and none where there are not."""
    sources, found = dict[str, Source](), list[Spot]()
    for path in suite_paths(tests, PytestSettings()):
        try:
            sources[path] = Source(tests[path])
        except SyntaxError:
            return HeldOut()
        found += spots(path, sources[path])
    if len(found) < ENOUGH:
        return HeldOut()
    chooser = _Chooser(found, sources, _Mentions(tests, description), random.Random(digest(tests)))  # noqa: S311 (repeatable, no secret)
    chosen = chooser.choose(min(MOST, max(1, round(share * len(found)))))
    if not chosen:
        return HeldOut()
    cases = tuple(replace(spot.case, shown=spot not in chosen) for spot in found)
    return HeldOut(shown=chooser.shown(chosen), cases=cases, sources=("tests",))


class _Mentions:
    """How often inputs are named in the tests and in the task's words, however they are spaced."""

    def __init__(self, tests: Files, description: str) -> None:
        self._tests = _squeezed("\n".join(tests.values()))
        self._words = _squeezed(description)

    def unseen(self, inputs: str, *, in_table: bool) -> bool:
        """Tell whether a call's inputs, as written, stand in one place of the tests and nowhere else."""
        text = re.escape(_squeezed(inputs))
        bare = rf"(?<![\w.]){text}(?![\w.])"
        called = bare if len(inputs) > _SHORT else rf"\({text}\)"  # a short one stands everywhere by chance
        places = re.findall(bare if in_table else called, self._tests)
        return bool(inputs) and len(places) == 1 and not re.search(called, self._words)


class _Chooser:
    def __init__(
        self, found: Sequence[Spot], sources: dict[str, Source], mentions: _Mentions, chance: random.Random
    ) -> None:
        self._found, self._sources, self._mentions, self._chance = found, sources, mentions, chance

    def choose(self, count: int) -> list[Spot]:
        """Up to `count` checks, in the order of the tests."""
        candidates = list(self._found)
        self._chance.shuffle(candidates)
        candidates = [spot for spot in candidates[:CANDIDATES] if self._unseen(spot)]
        chosen: list[Spot] = []
        for shape in (_shape, _types):
            alike = Counter(shape(spot) for spot in self._found)
            for spot in candidates:
                if len(chosen) < count and self._fits(spot, chosen, alike, shape):
                    chosen.append(spot)
            if chosen:
                break  # what is only roughly alike is taken where nothing better is there
        return [spot for spot in self._found if spot in chosen]

    def _unseen(self, spot: Spot) -> bool:
        inputs = _inputs(self._sources[spot.path], spot)
        return self._mentions.unseen(inputs, in_table=spot.table is not None)

    def shown(self, chosen: Sequence[Spot]) -> Files:
        """The shortened test files."""
        groups: dict[str, list[Spot]] = defaultdict(list)
        for spot in chosen:
            groups[spot.path].append(spot)
        return {path: without(self._sources[path], group) or "" for path, group in groups.items()}

    def _fits(self, spot: Spot, chosen: list[Spot], alike: Counter[_Shape], shape: Callable[[Spot], _Shape]) -> bool:
        """Tell whether one more check can go: another like it stays, and the file can do without it."""
        if spot in chosen or sum(shape(one) == shape(spot) for one in chosen) + 1 >= alike[shape(spot)]:
            return False
        mates = [one for one in (*chosen, spot) if one.holder is spot.holder]
        if spot.helper and removes_holder(mates):
            return False
        group = [one for one in (*chosen, spot) if one.path == spot.path]
        return without(self._sources[spot.path], group) is not None


def _inputs(source: Source, spot: Spot) -> str:
    """The inputs of a check's call as they stand in the text; empty where they cannot be told."""
    for node in ast.walk(spot.statement):
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            parts = [spot.values.get(one.id, one) if isinstance(one, ast.Name) else one for one in node.args]
            named = [(word.arg or "", word.value) for word in node.keywords]
            if _are(spot.case, parts, named):
                words = [f"{name}={source.segment(value)}" for name, value in named]
                return ",".join([*(source.segment(part) for part in parts), *words])
    return ""


def _are(case: ValueCase, parts: list[ast.expr], named: list[tuple[str, ast.expr]]) -> bool:
    """Tell whether these are a case's arguments."""
    try:
        written = literals.write(tuple(map(literals.value_of, parts)))
        return written == case.args and len(named) == len(literals.read(case.kwargs))
    except ValueError:
        return False


def _shape(spot: Spot) -> _Shape:
    """What a check is like: function, comparison, and types, signs and emptiness of inputs and result."""
    return (*_about(spot.case), *(_kind(value) for value in _values(spot.case)))


def _types(spot: Spot) -> _Shape:
    """The same more roughly: types alone."""
    return (*_about(spot.case), *(type(value).__name__ for value in _values(spot.case)))


def _about(case: ValueCase) -> _Shape:
    return case.call, case.compare, case.raises


def _values(case: ValueCase) -> list[Any]:
    arguments, named = literals.read(case.args), literals.read(case.kwargs)
    return [*arguments, *named.values(), *([] if case.expect is None else [literals.read(case.expect)])]


def _kind(value: Any) -> _Shape:
    name = type(value).__name__
    if isinstance(value, bool):
        return name, value
    if isinstance(value, int | float):
        return name, (value > 0) - (value < 0)
    return name, bool(value)


def _squeezed(text: str) -> str:
    return "".join(text.split())
