"""What the engine says of its work: the plan, what a change does, what was excluded, why nothing was found."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from repair import localise
from repair.evaluation import Sight, Trouble
from repair.problem import Problem
from repair.search import Found
from repair.variants import Variant

MOST_PLACES = 6


def troubles(sight: Sight) -> list[tuple[str, Trouble]]:
    """What files and failing tests ended with, files first, each kind of trouble once."""
    found = [*sight.broken.items(), *((test.id, test.trouble) for test in sight.failing if test.trouble)]
    distinct = {(trouble.kind, trouble.message, trouble.frames[-1:]): (where, trouble) for where, trouble in found}
    return list(distinct.values())


def plan(trees: Mapping[str, ast.Module], sight: Sight, told: str) -> str:
    """A numbered plan: what was seen, which lines are suspected, what is done about it."""
    lines = [f"1. {_seen(sight)}"]
    ranked = [
        (score, f"`{suspect.path}:{line}`" + (f" in `{suspect.scope.name}`" if suspect.scope.name else ""))
        for suspect in localise.suspects(trees, sight)[:MOST_PLACES]
        for line, score in sorted(suspect.lines.items(), key=lambda pair: -pair[1])[:MOST_PLACES]
    ]
    ranked.sort(key=lambda pair: -pair[0])
    if ranked:
        places = ", ".join(f"{where} ({score:.2f})" for score, where in ranked[:MOST_PLACES])
        lines.append(f"2. Suspected lines by Ochiai's coefficient: {places}.")
    lines.append(f"{len(lines) + 1}. " + (f"Change: {told}." if told else "Try edits there, the likeliest first."))
    return "\n".join(lines)


def _seen(sight: Sight) -> str:
    if sight.broken:
        path, trouble = next(iter(sight.broken.items()))
        return f"`{path}` cannot be imported: {trouble.kind}: {_line(trouble.message)}"
    kinds = sorted({test.trouble.kind for test in sight.failing if test.trouble})
    with_what = f", with {', '.join(kinds[:4])}" if kinds else ""
    return f"{len(sight.failing)} of {len(sight.tests)} tests fail{with_what}."


def of_variant(variant: Variant) -> str:
    """What a variant changes, in one line."""
    where = f" in `{variant.scope}`" if variant.scope else f" in `{variant.path}`"
    notes = [f"{edit.note or edit.kind} (line {edit.line})" for edit in variant.edits]
    return "; ".join(notes) + where


def refused(problem: Problem) -> str:
    """That a suite refused what was found before; empty when none did."""
    count = len(problem.excluded)
    if not count:
        return ""
    return (
        f"{count} change{'s' if count > 1 else ''} that passed the shown tests failed the whole suite and is excluded"
    )


def why_not(found: Found, budget_s: float) -> str:
    """Why a search found nothing."""
    tried = f"{found.tried:,} candidates"
    if not found.tried:
        return "no line that failing tests run can be edited"
    best = f"; the best passes {found.best} of the tests" if found.best else ""
    if found.exhausted:
        return f"all {tried} that one edit or two can make were tried, and none passes{best}"
    return f"{tried} were tried within {budget_s:g} s, and none passes{best}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
