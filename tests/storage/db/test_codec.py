"""Values as JSON and back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.task import Limits, Spent, TaskSpec
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict
from nightshift.storage.db.codec import decode, encode, encode_sparse, storable
from tests.support import tiers

texts = st.text(st.characters(), max_size=30)
"""Texts of any characters, including lone surrogates, because models write them."""
files = st.dictionaries(texts, texts, max_size=3)
verdicts = st.builds(
    Verdict,
    passed=st.booleans(),
    reason=texts,
    evidence=st.builds(Evidence, tree=texts, sandbox=texts, label=st.sampled_from(Label), dropped=files),
    results=st.lists(st.builds(CaseResult, id=texts, result=st.sampled_from(Result)), max_size=2).map(tuple),
    failures=st.lists(st.builds(Failure, id=texts, kind=texts, message=texts), max_size=2).map(tuple),
)
works = st.builds(
    AttemptState,
    phase=st.sampled_from(Phase),
    base=texts,
    plan=texts,
    change=st.dictionaries(texts, st.none() | texts, max_size=3),
    own_tests=files,
    tries=st.lists(
        st.builds(Try, iteration=st.integers(0, 99), digest=texts, failing=st.just(("a",)), feedback=texts), max_size=2
    ).map(tuple),
    lessons=st.lists(st.builds(Lesson, id=st.integers(), text=texts, score=st.floats(0, 1)), max_size=2).map(tuple),
    verdict=st.none() | verdicts,
    ending=st.none() | st.sampled_from(Ending),
    spent=st.builds(Spent, model_calls=st.integers(0, 9), cost_usd=st.floats(0, 9)),
)


@settings(max_examples=tiers.examples(60), deadline=None)
@given(works)
def test_a_case_file_comes_back_as_it_was(work: AttemptState) -> None:
    text = encode(work)
    assert text.isascii()
    assert decode(AttemptState, text) == work


def test_a_value_of_another_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="phase"):
        decode(AttemptState, '{"phase": "DREAMING", "base": "x"}')


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert decode(Reflection, '{"pattern": "p", "mood": "good"}') == Reflection(pattern="p")


@given(texts)
def test_storable_text_has_a_utf8_form_and_is_left_alone_where_it_had_one(text: str) -> None:
    storable(text).encode("utf-8")
    if not any(0xD800 <= ord(char) < 0xE000 for char in text):
        assert storable(text) == text


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (TaskSpec(description="a"), {"description", "priority", "language"}),
        (TaskSpec(description="a", limits=Limits(tokens=0)), {"description", "priority", "language", "limits"}),
        (TaskSpec(description="a", metadata={"x": None}), {"description", "priority", "language", "metadata"}),
    ],
)  # fmt: skip
def test_what_holds_nothing_is_left_out_and_comes_back(spec: TaskSpec, names: set[str]) -> None:
    text = encode_sparse(spec)
    assert set(json.loads(text)) == names
    assert decode(TaskSpec, text) == spec
