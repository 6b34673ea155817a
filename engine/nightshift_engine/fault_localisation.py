"""Spectrum-based fault localisation: finds lines that failing tests run more often than passing ones.

The suspicion of a line is Ochiai's coefficient of similarity between “this test ran the line” and “this test failed”,
failed(l) / √(failed · (failed(l) + passed(l))). A. Ochiai (Bull. Jap. Soc. Sci. Fish. 22, 1957) made it for species of
fish; R. Abreu, P. Zoeteweij and A. J. C. van Gemund (TAICPART-MUTATION 2007) found it to rank faults best.

A fault in the middle of a statement also shows in the statement's first line. So all lines of a statement (of the head,
if it is compound) get the highest suspicion among them. The last frame of a failing test's exception gets a bonus. Ties
are broken by data flow: the distance of a line from the function's result.
"""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nightshift_engine.evaluation import ObservedTest, SuiteObservation
from nightshift_engine.tree import Scope, scopes


def distances(function: ast.AST) -> dict[int, int]:
    """Map each line to its number of steps from a result: 0 for a line that returns, yields, raises or asserts."""
    facts = list(_facts(function, ()))
    makers = defaultdict[str, list[int]](list)
    for number, fact in enumerate(facts):
        for name in fact.stored:
            makers[name].append(number)
    steps, waiting = dict[int, int](), deque((n, 0) for n, fact in enumerate(facts) if fact.is_result)
    while waiting:
        number, distance = waiting.popleft()
        if number in steps:
            continue
        steps[number] = distance
        waiting += [(maker, distance + 1) for name in sorted(facts[number].used) for maker in makers[name]]
        waiting += [(guard, distance + 1) for guard in facts[number].guards]
    lines = dict[int, int]()
    for number, distance in steps.items():
        for line in facts[number].lines:
            lines[line] = min(distance, lines.get(line, distance))
    return lines


class _Fact:
    """A statement, or the head of a compound statement.

    It has the names that the statement reads and sets, and the heads that decide whether the statement runs.
    """

    def __init__(self, statement: ast.stmt, guards: tuple[int, ...]) -> None:
        parts = list(_parts(statement))
        names = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
        self.used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        self.stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | _list_changed(parts)
        if isinstance(statement, ast.AugAssign):
            self.used |= {n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name)}
        results = ast.Yield | ast.YieldFrom
        self.is_result = isinstance(statement, ast.Return | ast.Raise | ast.Assert) or any(
            isinstance(node, results) for part in parts for node in ast.walk(part)
        )
        self.guards = guards
        lasts = [getattr(part, "end_lineno", None) or statement.lineno for part in parts]
        self.lines = range(statement.lineno, max(lasts, default=statement.lineno) + 1)


def _list_changed(parts: list[ast.AST]) -> set[str]:
    """Return the names whose objects are changed in place: `x[i] = …`, `x.a = …`, `x.append(…)`."""
    names = set[str]()
    for node in (node for part in parts for node in ast.walk(part)):
        target = node.func if isinstance(node, ast.Call) else node
        is_store = isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load)
        if is_store or (isinstance(node, ast.Call) and isinstance(target, ast.Attribute)):
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                names.add(target.id)
    return names


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the statement itself, or the parts of its head if it is a compound statement."""
    if not hasattr(statement, "body"):
        yield statement
        return
    for name, value in ast.iter_fields(statement):
        if name not in {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"}:
            yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST))


def _facts(holder: ast.AST, guards: tuple[int, ...]) -> Iterator[_Fact]:
    """Yield a fact for each statement below a node; facts are numbered in the order of the text."""
    facts = list[_Fact]()
    _collect(holder, guards, facts)
    return iter(facts)


def _collect(holder: ast.AST, guards: tuple[int, ...], facts: list[_Fact]) -> None:
    for _, block in ast.iter_fields(holder):
        for node in block if isinstance(block, list) else ():
            if isinstance(node, ast.stmt):
                facts.append(_Fact(node, guards))
                _collect(node, (*guards, len(facts) - 1), facts)
            elif isinstance(node, ast.excepthandler | ast.match_case):
                _collect(node, guards, facts)


FRAME_BONUS = 0.25
FLOW_SHARE = 0.2
"""Maximum share of its suspicion that a line loses if no result depends on it."""
REST_SHARE = 0.5
"""Factor for the suspicion of a line that runs when its module is imported. Every test runs such lines, faults in them
are rarer, and each candidate costs an import.
"""
NEVER_RUN = 0.4
"""Least suspicion of a line, as a share of the highest in its scope. A line that wrongly did not run is suspect, too.
"""
UNSEEN = 0.05
"""Suspicion of every line if no executed line of any test is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A scope in which a fault may be; `lines` maps each suspected line to a suspicion from 0 to 1."""

    path: str
    scope: Scope
    lines: Mapping[int, float] = field(default_factory=dict)

    @property
    def most(self) -> float:
        """Highest suspicion of the scope's lines."""
        return max(self.lines.values(), default=0.0)


def suspects(files: Mapping[str, ast.Module], observation: SuiteObservation) -> list[Suspect]:
    """Return all scopes with suspected lines, the most suspected first.

    Of equally suspected scopes, the one with fewer lines comes first.

    Args:
        files: maps the paths of the files that may be changed to their syntax trees.
        observation: what the tests did.
    """
    all_suspects = list[Suspect]()
    seen_any = any(test.lines for test in observation.failing)
    for path, tree in files.items():
        raw = ochiai(path, observation.tests)
        frames = _frames(path, observation)
        for scope in scopes(tree):
            scores = raw if seen_any or frames else dict.fromkeys(scope.lines, UNSEEN)
            lines = _of_scope(tree, scope, scores, frames, _at_import(observation.tests))
            if lines:
                all_suspects.append(Suspect(path=path, scope=scope, lines=lines))
    return sorted(all_suspects, key=lambda suspect: (-suspect.most, len(suspect.lines)))


def ochiai(path: str, tests: Iterable[ObservedTest]) -> dict[int, float]:
    """Map the lines of a file that failing tests ran to their suspicion."""
    failed, passed, total = Counter[int](), Counter[int](), 0
    for test in tests:
        (passed if test.passed else failed).update(test.lines.get(path, ()))
        total += not test.passed
    return {line: count / math.sqrt(total * (count + passed[line])) for line, count in failed.items()}


def _at_import(tests: Iterable[ObservedTest]) -> float:
    """Return the suspicion of lines that every test runs because they run at import."""
    results = [test.passed for test in tests]
    return math.sqrt(results.count(False) / len(results)) if results else UNSEEN


def _frames(path: str, observation: SuiteObservation) -> Counter[int]:
    """Count, for each line of a file, the failing tests and broken imports whose traceback ends in that line."""
    errors = [test.error for test in observation.failing if test.error] + list(observation.broken.values())
    last = [frame for error in errors for frame in error.frames[-1:]]
    return Counter(line for where, line, _ in last if where == path)


def _of_scope(
    tree: ast.Module, scope: Scope, raw: Mapping[int, float], frames: Counter[int], at_import: float
) -> dict[int, float]:
    """Return the suspected lines of a scope, with bonuses and lower limits applied."""
    span_scores = dict[range, float]()
    for first, last in spans(scope):
        within = range(first, last + 1)
        score = max((raw.get(line, 0.0) for line in within), default=0.0)
        score = score or (REST_SHARE * at_import if scope.is_rest else 0.0)
        if any(frames[line] for line in within):
            score = min(1.0, score + FRAME_BONUS)
        span_scores[within] = score
    least = NEVER_RUN * max(span_scores.values(), default=0.0)
    scores = {line: max(score, least) for within, score in span_scores.items() for line in within}
    return _by_flow(tree, scope, {line: score for line, score in scores.items() if score > 0})


def _by_flow(tree: ast.Module, scope: Scope, scores: Mapping[int, float]) -> dict[int, float]:
    if scope.is_rest:
        return dict(scores)
    distance = distances(scope.node(tree))
    far = max(distance.values(), default=0) + 1
    return {line: score * (1 - FLOW_SHARE * distance.get(line, far) / far) for line, score in scores.items()}


def spans(scope: Scope) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each statement of a scope, or of its head if it is a compound statement."""
    for statement in scope.statements:
        blocks = [inner for name in ("body", "orelse", "handlers", "finalbody", "cases")
                  for inner in getattr(statement, name, ())]  # fmt: skip
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        last = min((_first_line(inner) for inner in blocks), default=0) - 1
        yield first, max(first, last if blocks else statement.end_lineno or first)


def _first_line(node: ast.stmt | ast.excepthandler | ast.match_case) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
