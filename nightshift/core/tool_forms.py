"""Statistics on how well models call tools in each form of calls, and the choice of a form from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.tool_protocol import ToolProtocol

ENOUGH = 10
"""Replies after which the quality of a form counts as known."""
TOO_MANY_MALFORMED = 0.2
"""Share of malformed replies above which the usual form is given up for a better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCounts:
    """Counts of one model's replies in one form: correct tool calls, and replies that could not be read."""

    well: int = 0
    malformed: int = 0

    def __add__(self, other: FormCounts) -> FormCounts:
        return FormCounts(well=self.well + other.well, malformed=self.malformed + other.malformed)

    @property
    def replies(self) -> int:
        """The number of all replies."""
        return self.well + self.malformed

    @property
    def malformed_share(self) -> float | None:
        """The share of replies that could not be read; None if there was no reply."""
        return self.malformed / self.replies if self.replies else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReport:
    """Report of a step on one model in one form."""

    backend: str
    model: str
    protocol: ToolProtocol
    counts: FormCounts


def form_reports(data: object) -> Iterator[FormReport]:
    """Read the reports in a step's data (`forms`): [[backend, model, protocol, well, malformed], …].

    Raises:
        ValueError: The data has another form.
    """
    for backend, model, protocol, well, malformed in data if isinstance(data, Sequence) else ():
        counts = FormCounts(well=int(well), malformed=int(malformed))
        yield FormReport(backend=backend, model=model, protocol=ToolProtocol(protocol), counts=counts)


KnownForms = Mapping[ToolProtocol, FormCounts]


def choose_form(protocols: Sequence[ToolProtocol], form_counts: KnownForms) -> ToolProtocol:
    """Choose the form in which a model is offered tools, if none is requested.

    Args:
        protocols: The forms that its backend supports, the usual one first; at least one.
        form_counts: The model's results with them.

    Returns:
        The usual form, unless it is known to fail often and another form works better or is not known yet.
    """
    usual = protocols[0]
    share = _share(form_counts, usual)
    if share is None or share <= TOO_MANY_MALFORMED:
        return usual
    return min(protocols, key=lambda protocol: (_share(form_counts, protocol) or 0.0, protocol is not usual))


def _share(form_counts: KnownForms, protocol: ToolProtocol) -> float | None:
    """Return the share of malformed replies; None if the form does not count as known."""
    counts = form_counts.get(protocol, FormCounts())
    return counts.malformed_share if counts.replies >= ENOUGH else None
