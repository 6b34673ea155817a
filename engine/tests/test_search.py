"""Variants come in the order of their likelihood, none twice, and nonsense last."""

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
    known: SeenTexts | None = None, *, seen: SuiteObservation | None = None, likelihood: float = 1.0
) -> CandidateStream:
    trees: Mapping[str, ast.Module] = {"m.py": ast.parse(TEXT)}
    looked = seen or observation(5, 6, 8)
    words = {"m.py": vocabulary(TEXT)}
    suspects = fault_localisation.suspects(trees, looked)
    return CandidateStream(trees, suspects, looked, words, known or SeenTexts(), likelihood=likelihood)


def test_the_likeliest_come_first_and_none_reads_as_another_or_as_the_original() -> None:
    found = list(stream())
    assert len(found) > 200
    assert [one.likelihood for one in found] == sorted((one.likelihood for one in found), reverse=True)
    texts = [(one.scope, one.text) for one in found]
    assert len(set(texts)) == len(texts)
    original = ast.parse(TEXT)
    assert not any(ast.dump(one.tree) == ast.dump(original) for one in found)


def test_each_is_a_program_and_the_text_is_that_of_its_scope_alone() -> None:
    for one in list(stream())[::17]:
        compile(ast.unparse(one.tree), "m.py", "exec")
        assert one.scope in {"left", ""}
        if one.scope:
            assert one.text.startswith("def left(")
        assert one.candidate.text == one.text


def test_what_no_failing_test_runs_is_left_alone() -> None:
    assert not [one for one in stream() if one.scope == "unrelated"]


def test_what_was_tried_by_one_stream_is_not_tried_by_another() -> None:
    known = SeenTexts()
    first = {one.text for one in stream(known)}
    assert first
    assert not list(stream(known))


def test_two_sides_of_an_operator_that_are_the_same_come_late() -> None:
    found = list(stream())
    places = {one.text: number for number, one in enumerate(found)}
    nonsense = next(
        number for text, number in places.items() if "= spent - spent\n" in text or "= total - total\n" in text
    )
    sense = next(
        number for text, number in places.items() if "= bonus - spent\n" in text or "= total - bonus\n" in text
    )
    assert sense < nonsense
    assert found[nonsense].likelihood < 0.1 * found[sense].likelihood


def test_streams_are_merged_by_likelihood() -> None:
    merged = CandidateQueue()
    merged.add(stream(likelihood=0.5))
    merged.add(stream(likelihood=1.0))
    taken = merged.take(30)
    assert [one.likelihood for one in taken] == sorted((one.likelihood for one in taken), reverse=True)
    assert len({one.text for one in taken}) < len(taken), "both streams hold the same texts, one half as likely"
    left = list[Variant]()
    while batch := merged.take(500):
        left += batch
    assert len(taken) + len(left) == 2 * len(list(stream()))
