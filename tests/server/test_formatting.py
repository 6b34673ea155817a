"""Values as the dashboard shows them: every text is printable, short and free of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.server.formatting import LINE_CHARS, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    text: str
    phase: Phase = Phase.CODING


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    text: str
    number: int = 7
    parts: tuple[Part, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def test_every_text_of_a_value_is_masked_printable_and_cut() -> None:
    evil, mask = "hunter22 \x1b[1m", Masker(["hunter22"])
    shown = shorten(Whole(text="y" * 1000, parts=(Part(text=evil),), names={evil: evil}), mask)
    clean = r"*** \x1b[1m"
    assert (len(shown.text), shown.text[-1]) == (LINE_CHARS, "…")
    assert shown.parts == (Part(text=clean),)
    assert shown.names == {clean: clean}
