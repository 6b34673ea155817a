"""Variants come in the order of likelihood, none twice, and absurd ones last."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from nightshift_engine import fault_localisation
from nightshift_engine.edit import vocabulary
from nightshift_engine.evaluation import ObservedTest, RunStatus, SuiteObservation
from nightshift_engine.search import CandidateQueue, CandidateStream, SeenTexts, Variant

TEXT = """LIMIT = 10


def left(total, spent, bonus):
    rest = total - spent
    if rest > LIMIT:
        rest = rest + bonus
    return rest


def unrelated(a):
    return a + 1
"""


def observation(*lines: int) -> SuiteObservation:
    ran = {"m.py": frozenset(lines)}
    kinds = {"m.py:left": dict.fromkeys(("total", "spent", "bonus", "rest"), frozenset({"int"}))}
    return SuiteObservation(tests=(ObservedTest(id="t", how=RunStatus.FAILED, lines=ran),), kinds=kinds)


def stream(
    seen_texts: SeenTexts | None = None, *, seen: SuiteObservation | None = None, likelihood: float = 1.0
) -> CandidateStream:
    trees: Mapping[str, ast.Module] = {"m.py": ast.parse(TEXT)}
    looked = seen or observation(5, 6, 8)
    words = {"m.py": vocabulary(TEXT)}
    suspects = fault_localisation.suspects(trees, looked)
    return CandidateStream(trees, suspects, looked, words, seen_texts or SeenTexts(), likelihood=likelihood)


def test_the_likeliest_come_first_and_none_reads_as_another_or_as_the_original() -> None:
    variants = list(stream())
    assert len(variants) > 200
    assert [variant.likelihood for variant in variants] == sorted(
        (variant.likelihood for variant in variants), reverse=True
    )
    texts = [(variant.scope, variant.text) for variant in variants]
    assert len(set(texts)) == len(texts)
    original = ast.parse(TEXT)
    assert not any(ast.dump(variant.tree) == ast.dump(original) for variant in variants)


def test_what_was_tried_by_one_stream_is_not_tried_by_another() -> None:
    seen_texts = SeenTexts()
    first = {variant.text for variant in stream(seen_texts)}
    assert first
    assert not list(stream(seen_texts))


def test_streams_are_merged_by_likelihood() -> None:
    merged = CandidateQueue()
    merged.add(stream(likelihood=0.5))
    merged.add(stream(likelihood=1.0))
    taken = merged.take(30)
    assert [variant.likelihood for variant in taken] == sorted((variant.likelihood for variant in taken), reverse=True)
    assert len({variant.text for variant in taken}) < len(taken), "both streams hold the same texts, one half as likely"
    left = list[Variant]()
    while batch := merged.take(500):
        left += batch
    assert len(taken) + len(left) == 2 * len(list(stream()))
