"""Which of the variants that pass is the answer, and how sure that is.

Tests that pass are a weak witness where many variants pass them. So the variants are also called with inputs that no
test has (`inputs`), and examples in the docstring are run as tests. What agrees with the docstring comes first; among
the rest each variant is as good as its likelihood, less for a large edit, and less for answers that the others, each
with the weight of its likelihood, do not share.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from repair import docstrings, inputs
from repair.evaluation import Answered, Call, How, Patience, Sight, TrialJob, Trials
from repair.scopes import scopes
from repair.variants import Variant

MOST = 24
INPUTS = 40
TOKEN_PENALTY = 0.12
"""What each token that an edit adds or takes costs, in the logarithm of the likelihood."""
AGREEMENT = 1.5
"""How much the answers of the others count against the likelihood."""
FEW_TESTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Variants in the order in which they should be answered; `warning` is empty where there is no doubt."""

    ranked: tuple[Variant, ...]
    warning: str = ""


async def choose(
    trials: Trials,
    job: TrialJob,
    sight: Sight,
    trees: Mapping[str, ast.Module],
    passing: Sequence[Variant],
    patience: Patience,
) -> Choice:
    """Rank the variants that pass.

    Args:
        trials: runs what is to be run.
        job: the tree that the variants are of.
        sight: what the tests were seen to do before.
        trees: the syntax trees of its files.
        passing: by likelihood.
        patience: for one call.
    """
    some = list(passing[:MOST])
    some = await _agreeing(trials, job, some, patience)
    scores = {
        id(one): math.log(max(one.likelihood, 1e-12)) - TOKEN_PENALTY * _size(trees[one.path], one) for one in some
    }
    warning = _few(sight, some[0])
    alike = [one for one in some if (one.path, one.scope) == (some[0].path, some[0].scope)]
    calls = [call for call in sight.calls if (call.path, call.scope) == (some[0].path, some[0].scope)]
    if len(alike) > 1 and calls:
        asked = [*await asyncio.to_thread(inputs.further, calls, INPUTS), *calls[:5]]
        answers = await trials.probe(job, [one.candidate for one in alike], asked, patience)
        for one, share in zip(alike, _agreement(alike, answers), strict=True):
            scores[id(one)] += AGREEMENT * share
        warning = _disagreement(alike, answers, asked) or warning
    ranked = sorted(some, key=lambda one: -scores[id(one)])
    return Choice(ranked=(*ranked, *passing[MOST:]), warning=warning)


async def _agreeing(trials: Trials, job: TrialJob, variants: list[Variant], patience: Patience) -> list[Variant]:
    """Those that agree with the examples in the docstring; all where none does, or where there are none."""
    module = ast.get_docstring(variants[0].tree) or ""
    text, ids = docstrings.as_tests(variants[0].path, variants[0].scope, variants[0].text, module)
    if not ids:
        return variants
    wider = replace(job, tests={**job.tests, docstrings.PATH: text})
    outcomes = await trials.attempt(wider, [one.candidate for one in variants], ids, patience)
    fine = [one for one, outcome in zip(variants, outcomes, strict=True) if outcome.how is How.PASSED]
    return fine or variants


def _agreement(variants: Sequence[Variant], answers: Sequence[Sequence[Answered]]) -> list[float]:
    """For each variant the mean logarithm of the share that its answers have, by weight; 0 is full agreement."""
    total = sum(one.likelihood for one in variants)
    sums = [0.0] * len(variants)
    count = min(map(len, answers), default=0)
    for number in range(count):
        weights = defaultdict[str, float](float)
        said = [_said(answer[number]) for answer in answers]
        for one, text in zip(variants, said, strict=True):
            weights[text] += one.likelihood
        for index, text in enumerate(said):
            sums[index] += math.log(weights[text] / total)
    return [value / count for value in sums] if count else sums


def _said(answer: Answered) -> str:
    """An answer as a text that is the same for equal ones."""
    return json.dumps([answer.how.value, _canonical(answer.value), answer.raised[:1]])


def _canonical(packed: object) -> object:
    """A packed value with its sets and dicts in one order."""
    if not isinstance(packed, list):
        return packed
    tag, *rest = packed
    items = [_canonical(item) for item in rest]
    if tag in {"s", "z"}:
        items.sort(key=json.dumps)
    elif tag == "d":
        pairs = sorted(zip(items[::2], items[1::2], strict=True), key=json.dumps)
        items = [part for pair in pairs for part in pair]
    return [tag, *items]


def _size(tree: ast.Module, variant: Variant) -> int:
    """How many words and signs a variant adds or takes."""
    before = next(one for one in scopes(tree) if one.name == variant.scope)
    old, new = docstrings.tokens(ast.unparse(before.node(tree))), docstrings.tokens(variant.text)
    matched = sum(block.size for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return max(len(old), len(new)) - matched


def _few(sight: Sight, variant: Variant) -> str:
    through = [test for test in sight.tests if test.lines.get(variant.path)] or list(sight.tests)
    if len(through) >= FEW_TESTS:
        return ""
    count = f"only {len(through)} test{'s' if len(through) != 1 else ''}"
    return f"{count} run this code, so that the change may fit these alone"


def _disagreement(variants: Sequence[Variant], answers: Sequence[Sequence[Answered]], calls: Sequence[Call]) -> str:
    """A warning where variants that pass all tests give different answers to inputs that no test has."""
    first = [_said(answer) for answer in answers[0]]
    other = sum([_said(answer) for answer in row] != first for row in answers[1:])
    if not other:
        return ""
    name = calls[0].scope
    return (
        f"{other} of {len(variants)} changes that pass all tests answer differently where no test looks; "
        f"more tests of `{name}` would tell them apart"
    )
