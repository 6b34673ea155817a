"""Chooses the answer among the variants that pass, and says how sure the choice is.

Passing tests are weak evidence if many variants pass them. So the variants are also called with inputs that no test
has, and the examples in the docstring are run as tests. Variants that agree with the docstring come first. The others
are ranked by likelihood, with a penalty for large edits and a penalty for answers that differ from those of other
likely variants.

The new inputs resemble the inputs that were seen, in kind and size. A function may demand more of its inputs than their
types say: sorted, distinct, not negative, or not empty. Answers to inputs for which a function was never meant show
nothing. So the new inputs keep each property that all seen values of an argument share. Values stay packed
(`nightshift_engine.evaluation.Call`), so that making them neither needs nor runs the tested code.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import doctest
import io
import json
import math
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nightshift.core.code import literals
from nightshift_engine.evaluation import (
    Call,
    CallResult,
    EvaluationJob,
    EvaluationLimits,
    Evaluator,
    RunStatus,
    SuiteObservation,
)
from nightshift_engine.search import Variant
from nightshift_engine.tree import scopes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


MOST_RANKED = 24
INPUTS = 40
TOKEN_PENALTY = 0.12
"""Penalty, on the logarithm of the likelihood, for each token that an edit adds or removes."""
AGREEMENT = 1.5
"""Weight of the agreement with other variants, relative to the logarithm of the likelihood."""
FEW_TESTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Passing variants, the best answer first; `warning` is empty if there is no doubt about the choice."""

    ranked: tuple[Variant, ...]
    warning: str = ""


async def choose(
    evaluator: Evaluator,
    job: EvaluationJob,
    observation: SuiteObservation,
    trees: Mapping[str, ast.Module],
    passing: Sequence[Variant],
    limits: EvaluationLimits,
) -> Choice:
    """Rank the variants that pass.

    Args:
        evaluator: runs the docstring's examples and the calls.
        job: the tree that the variants change.
        observation: what the tests did before the change.
        trees: maps the paths of the files that may change to their syntax trees.
        passing: the variants that pass, by likelihood.
        limits: limits of one test or call.
    """
    some = list(passing[:MOST_RANKED])
    some = await _agreeing(evaluator, job, some, limits)
    scores = {
        id(variant): math.log(max(variant.likelihood, 1e-12)) - TOKEN_PENALTY * _size(trees[variant.path], variant)
        for variant in some
    }
    warning = _few(observation, some[0])
    alike = [variant for variant in some if (variant.path, variant.scope) == (some[0].path, some[0].scope)]
    calls = [call for call in observation.calls if (call.path, call.scope) == (some[0].path, some[0].scope)]
    if len(alike) > 1 and calls:
        asked = [*await asyncio.to_thread(more_inputs, calls, INPUTS), *calls[:5]]
        answers = await evaluator.probe(job, [variant.candidate for variant in alike], asked, limits)
        for variant, share in zip(alike, _agreement(alike, answers), strict=True):
            scores[id(variant)] += AGREEMENT * share
        warning = _disagreement(alike, answers, asked) or warning
    ranked = sorted(some, key=lambda variant: -scores[id(variant)])
    return Choice(ranked=(*ranked, *passing[MOST_RANKED:]), warning=warning)


async def _agreeing(
    evaluator: Evaluator, job: EvaluationJob, variants: list[Variant], limits: EvaluationLimits
) -> list[Variant]:
    """Return the variants that agree with the docstring's examples.

    Return all variants if none agrees or if there are no examples.
    """
    module = ast.get_docstring(variants[0].tree) or ""
    text, ids = docstring_tests(variants[0].path, variants[0].scope, variants[0].text, module)
    if not ids:
        return variants
    wider = replace(job, tests={**job.tests, DOCSTRING_TESTS: text})
    outcomes = await evaluator.evaluate(wider, [variant.candidate for variant in variants], ids, limits)
    fine = [variant for variant, outcome in zip(variants, outcomes, strict=True) if outcome.how is RunStatus.PASSED]
    return fine or variants


def _agreement(variants: Sequence[Variant], answers: Sequence[Sequence[CallResult]]) -> list[float]:
    """Return how far each variant agrees with the others; 0 is full agreement, and less agreement is more negative.

    For each call, the variants with the same answer have a share of the total likelihood. The agreement of a variant is
    the logarithm of its share, averaged over all calls.
    """
    total = sum(variant.likelihood for variant in variants)
    sums = [0.0] * len(variants)
    count = min(map(len, answers), default=0)
    for number in range(count):
        weights = defaultdict[str, float](float)
        keys = [_answer_key(answer[number]) for answer in answers]
        for variant, text in zip(variants, keys, strict=True):
            weights[text] += variant.likelihood
        for index, text in enumerate(keys):
            sums[index] += math.log(weights[text] / total)
    return [value / count for value in sums] if count else sums


def _answer_key(answer: CallResult) -> str:
    """Return an answer as a text; equal answers give equal texts."""
    return json.dumps([answer.how.value, _canonical(answer.value), answer.raised[:1]])


def _canonical(packed: object) -> object:
    """Return a packed value with the items of its sets and dicts in a fixed order."""
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
    """Return the number of tokens that a variant adds or removes, whichever is greater."""
    before = next(scope for scope in scopes(tree) if scope.name == variant.scope)
    old, new = tokens(ast.unparse(before.node(tree))), tokens(variant.text)
    matched = sum(block.size for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return max(len(old), len(new)) - matched


def _few(observation: SuiteObservation, variant: Variant) -> str:
    through = [test for test in observation.tests if test.lines.get(variant.path)] or list(observation.tests)
    if len(through) >= FEW_TESTS:
        return ""
    count = f"only {len(through)} test{'s' if len(through) != 1 else ''}"
    return f"{count} run this code, so that the change may fit these alone"


def _disagreement(variants: Sequence[Variant], answers: Sequence[Sequence[CallResult]], calls: Sequence[Call]) -> str:
    """Return a warning if variants that pass all tests give different answers to inputs that no test has."""
    first = [_answer_key(answer) for answer in answers[0]]
    other = sum([_answer_key(answer) for answer in row] != first for row in answers[1:])
    if not other:
        return ""
    name = calls[0].scope
    return (
        f"{other} of {len(variants)} changes that pass all tests answer differently where no test looks; "
        f"more tests of `{name}` would tell them apart"
    )


# The functions below turn the examples of a docstring into tests.


DOCSTRING_TESTS = "test_docstring_examples_of_the_scope.py"


def docstring_tests(path: str, scope: str, *texts: str) -> tuple[str, list[str]]:
    """Make a test file from the examples that call a function; return its text and the ids of its tests.

    An example counts if it calls the function itself and its result is a literal. Methods and the module scope have no
    such examples.

    Args:
        path: the function's file.
        scope: the function's qualified name.
        texts: texts that may contain examples: the function's source, or a docstring.
    """
    if "." in scope or not scope or not path.endswith(".py"):
        return "", []
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").removeprefix("src.")
    lines = [f"from {module} import {scope}", ""]
    ids = list[str]()
    for call, result in dict.fromkeys(pair for text in texts for pair in _examples(text, scope)):
        ids.append(f"{DOCSTRING_TESTS}::test_{len(ids)}")
        lines += ["", f"def test_{len(ids) - 1}():", f"    assert ({call}) == ({result})", ""]
    return "\n".join(lines), ids


def _examples(text: str, scope: str) -> list[tuple[str, str]]:
    examples = list[tuple[str, str]]()
    try:
        parts = doctest.DocTestParser().get_examples(text)
    except ValueError:  # the text only looks like doctest
        return []
    for part in parts:
        try:
            expression = ast.parse(part.source.strip(), mode="eval").body
            literals.read(part.want.strip())
        except (SyntaxError, ValueError):
            continue
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if isinstance(expression, ast.Call) and names == {scope}:
            examples.append((part.source.strip(), part.want.strip()))
    return examples


def tokens(text: str) -> list[str]:
    """Split a program into its tokens, without whitespace."""
    try:
        strings = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError):
        return text.split()
    return [word for word in strings if word.strip()]


# The functions below make new inputs for a function from the inputs that were seen.


MOST_ITEMS = 12


def more_inputs(calls: Sequence[Call], count: int) -> list[Call]:
    """Make up to `count` new calls of the same function; the result is deterministic.

    Args:
        calls: the calls that were seen, all of one function.
        count: the maximum number of new calls.
    """
    shapes = {(len(_items(call.args)), json.dumps(call.kwargs)) for call in calls}
    calls_by_text = dict[str, Call]()
    seen_args = {json.dumps(call.args) for call in calls}
    for width, kwargs in sorted(shapes):
        alike = [call for call in calls if len(_items(call.args)) == width and json.dumps(call.kwargs) == kwargs]
        columns = [[_items(call.args)[index] for call in alike] for index in range(width)]
        if not columns:
            continue
        tag = alike[0].args[0]  # type: ignore[index] # a packed sequence begins with its type
        for row in _draw_rows(_row(columns), 3 * count):
            args = [tag, *row]
            if (text := json.dumps(args)) not in seen_args:
                calls_by_text.setdefault(
                    text, Call(path=alike[0].path, scope=alike[0].scope, args=args, kwargs=alike[0].kwargs)
                )
    return list(calls_by_text.values())[:count]


def _draw_rows(strategy: SearchStrategy[list[Any]], count: int) -> list[list[Any]]:
    """Draw rows from a strategy, the same rows on each call."""
    from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415 - slow to import, rarely needed

    rows = list[list[Any]]()

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(row: list[Any]) -> None:
        rows.append(row)

    collect()
    return rows


def _row(columns: Sequence[Sequence[Any]]) -> SearchStrategy[list[Any]]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    return st.tuples(*map(_like, columns)).map(list)


def _like(samples: Sequence[Any]) -> SearchStrategy[Any]:
    """Return a strategy for values that resemble the samples."""
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    makers: dict[str, Callable[[Sequence[Any]], SearchStrategy[Any]]] = {
        "i": _integers, "f": _floats, "str": _texts, "l": _sequences, "t": _tuples, "bool": lambda _: st.booleans(),
    }  # fmt: skip
    options = list[Any]()
    for tag in dict.fromkeys(map(_tag, samples)):
        of_tag = [sample for sample in samples if _tag(sample) == tag]
        make = makers.get(tag)
        options.append(make(of_tag) if make else st.sampled_from(of_tag))
    return st.one_of(options)


def _integers(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    numbers = [int(sample[1], 16) for sample in samples]
    low, high = min(numbers), max(numbers)
    low = low if 0 <= low <= 1 else low - 2
    return st.integers(low, high + 3).map(lambda number: ["i", hex(number)])


def _floats(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    numbers = [float.fromhex(sample[1]) for sample in samples]
    finite = [number for number in numbers if abs(number) < 1e300] or [0.0]
    scaled = st.integers(int(min(finite) * 4), int(max(finite) * 4) + 4).map(lambda number: ["f", (number / 4).hex()])
    return st.one_of(scaled, st.sampled_from(list(samples)))


def _texts(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    letters = sorted(set("".join(samples))) or ["a"]
    least = int(all(samples))
    most = max(map(len, samples)) + 2
    free = st.text(st.sampled_from(letters), min_size=least, max_size=min(40, most))
    return st.one_of(free, st.sampled_from(list(samples)))


def _sequences(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    bodies = [_items(sample) for sample in samples]
    inner = [item for body in bodies for item in body]
    if not inner:
        return st.sampled_from(list(samples))
    least, most = int(all(bodies)), max(map(len, bodies)) + 2
    unique = json.dumps if all(_is_distinct(body) for body in bodies) else None
    lists = st.lists(_like(inner), min_size=least, max_size=min(MOST_ITEMS, most), unique_by=unique)
    tag = samples[0][0]
    if all(body == _sort_body(body) for body in bodies):
        return lists.map(lambda body: [tag, *_sort_body(body)])
    return lists.map(lambda body: [tag, *body])


def _tuples(samples: Sequence[Any]) -> SearchStrategy[Any]:
    """Return a strategy for tuples of the samples' length; samples of several lengths are treated as sequences."""
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_draw_rows`

    widths = {len(sample) for sample in samples}
    if len(widths) > 1:
        return _sequences(samples)
    columns = list(zip(*(_items(sample) for sample in samples), strict=True))
    return _row(columns).map(lambda row: ["t", *row]) if columns else st.just(["t"])


def _tag(packed: Any) -> str:
    if isinstance(packed, list):
        return str(packed[0])
    return "None" if packed is None else type(packed).__name__


def _items(packed: Any) -> list[Any]:
    return list(packed[1:]) if isinstance(packed, list) else []


def _is_distinct(body: Iterable[Any]) -> bool:
    texts = [json.dumps(item) for item in body]
    return len(set(texts)) == len(texts)


def _sort_body(body: list[Any]) -> list[Any]:
    """Sort a list of packed values if all are integers, all floats or all texts; return other lists unchanged."""
    tags = {_tag(item) for item in body}
    if tags == {"i"}:
        return sorted(body, key=lambda item: int(item[1], 16))
    if tags == {"f"}:
        return sorted(body, key=lambda item: float.fromhex(item[1]))
    return sorted(body) if tags == {"str"} else body
