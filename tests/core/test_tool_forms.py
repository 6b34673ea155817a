"""The form of tool calls (native or text) is chosen from a model's earlier results."""

from __future__ import annotations

from nightshift.core.tools import FormCounts, ToolProtocol, choose_form

NATIVE, TEXT = ToolProtocol.NATIVE, ToolProtocol.TEXT


def test_the_examples_of_the_rule() -> None:
    bad = FormCounts(well=7, malformed=3)
    assert choose_form([NATIVE, TEXT], {}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: FormCounts(well=8, malformed=2)}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: FormCounts(well=6, malformed=3)}) is NATIVE
    assert choose_form([NATIVE, TEXT], {NATIVE: bad}) is TEXT
    assert choose_form([NATIVE, TEXT], {NATIVE: bad, TEXT: FormCounts(malformed=2)}) is TEXT
    assert choose_form([NATIVE, TEXT], {NATIVE: bad, TEXT: FormCounts(malformed=10)}) is NATIVE
    assert choose_form([TEXT, NATIVE], {TEXT: bad, NATIVE: FormCounts(well=9, malformed=1)}) is NATIVE
