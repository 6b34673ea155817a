"""The form of tool calls (native or text) is chosen from a model's earlier results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tool_forms import ENOUGH, TOO_MANY_MALFORMED, FormCounts, choose_form, form_reports
from nightshift.core.tool_protocol import ToolProtocol

NATIVE, TEXT = ToolProtocol.NATIVE, ToolProtocol.TEXT
COUNTS = st.builds(FormCounts, well=st.integers(0, 50), malformed=st.integers(0, 50))
KNOWN = st.dictionaries(st.sampled_from(ToolProtocol), COUNTS)
SPOKEN = st.permutations([NATIVE, TEXT])


def is_known(counts: FormCounts) -> bool:
    return counts.replies >= ENOUGH


@given(SPOKEN, KNOWN)
def test_the_usual_form_stays_while_it_is_not_known_to_go_wrong(
    protocols: list[ToolProtocol], counts_by_form: dict[ToolProtocol, FormCounts]
) -> None:
    usual = counts_by_form.get(protocols[0], FormCounts())
    if not is_known(usual) or (usual.malformed_share or 0) <= TOO_MANY_MALFORMED:
        assert choose_form(protocols, counts_by_form) is protocols[0]


@given(SPOKEN, KNOWN)
def test_it_is_given_up_just_where_the_other_one_is_unknown_or_goes_better(
    protocols: list[ToolProtocol], counts_by_form: dict[ToolProtocol, FormCounts]
) -> None:
    usual, other = (counts_by_form.get(protocol, FormCounts()) for protocol in protocols)
    share, others = usual.malformed_share or 0.0, other.malformed_share or 0.0
    if is_known(usual) and share > TOO_MANY_MALFORMED:
        better = not is_known(other) or others < share
        assert (choose_form(protocols, counts_by_form) is protocols[1]) == better


@given(st.sampled_from(ToolProtocol), KNOWN)
def test_a_backend_with_one_form_keeps_to_it(
    only: ToolProtocol, counts_by_form: dict[ToolProtocol, FormCounts]
) -> None:
    assert choose_form([only], counts_by_form) is only


@given(SPOKEN, KNOWN, st.integers(1, 40))
def test_replies_that_are_well_formed_never_turn_a_model_away_from_their_form(
    protocols: list[ToolProtocol], counts_by_form: dict[ToolProtocol, FormCounts], more: int
) -> None:
    chosen = choose_form(protocols, counts_by_form)
    better = {**counts_by_form, chosen: counts_by_form.get(chosen, FormCounts()) + FormCounts(well=more)}
    if is_known(counts_by_form.get(chosen, FormCounts())):
        assert choose_form(protocols, better) is chosen or chosen is protocols[1]


def test_the_examples_of_the_rule() -> None:
    bad = FormCounts(well=7, malformed=3)
    assert choose_form([NATIVE, TEXT], {}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: FormCounts(well=8, malformed=2)}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: FormCounts(well=6, malformed=3)}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: bad}) is TEXT
    assert choose_form([NATIVE, TEXT], {NATIVE: bad, TEXT: FormCounts(malformed=2)}) is TEXT
    assert choose_form([NATIVE, TEXT], {NATIVE: bad, TEXT: FormCounts(malformed=10)}) is NATIVE
    assert choose_form([TEXT, NATIVE], {TEXT: bad, NATIVE: FormCounts(well=9, malformed=1)}) is NATIVE


def test_reports_are_read_as_steps_write_them() -> None:
    (report,) = form_reports([["openai", "gpt-5", "native", 3, 1]])
    assert (report.backend, report.model, report.protocol) == ("openai", "gpt-5", NATIVE)
    assert report.counts.malformed_share == 0.25
    assert [*form_reports(None)] == []
    with pytest.raises(ValueError, match="speech"):
        list(form_reports([["openai", "gpt-5", "speech", 3, 1]]))
