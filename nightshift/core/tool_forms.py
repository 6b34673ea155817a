"""Counts of how well models call tools, by the form of the calls, and the choice of a form from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.tool_protocol import ToolProtocol

ENOUGH = 10
"""After so many replies a form counts as known."""
TOO_MANY_MALFORMED = 0.2
"""A usual form with a larger share of malformed replies than this is given up for a better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCounts:
    """Replies of one model in one form that called tools well, and those that could not be read."""

    well: int = 0
    malformed: int = 0

    def __add__(self, other: FormCounts) -> FormCounts:
        return FormCounts(well=self.well + other.well, malformed=self.malformed + other.malformed)

    @property
    def replies(self) -> int:
        """All of them."""
        return self.well + self.malformed

    @property
    def malformed_share(self) -> float | None:
        """The share that could not be read; None where there was no reply."""
        return self.malformed / self.replies if self.replies else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReport:
    """Report of a step on one model in one form."""

    backend: str
    model: str
    protocol: ToolProtocol
    counts: FormCounts


def form_reports(data: object) -> Iterator[FormReport]:
    """The reports in a step's data (`forms`): [[backend, model, protocol, well, malformed], …].

    Raises:
        ValueError: they are not written so.
    """
    for backend, model, protocol, well, malformed in data if isinstance(data, Sequence) else ():
        counts = FormCounts(well=int(well), malformed=int(malformed))
        yield FormReport(backend=backend, model=model, protocol=ToolProtocol(protocol), counts=counts)


KnownForms = Mapping[ToolProtocol, FormCounts]


def choose_form(protocols: Sequence[ToolProtocol], form_counts: KnownForms) -> ToolProtocol:
    """The form in which a model is offered tools, where nobody says which.

    Args:
        protocols: those that its backend speaks, the usual one first; at least one.
        form_counts: what the model did with them.

    Returns:
        The usual one, unless it is known to go wrong and another one goes better or is not known yet.
    """
    usual = protocols[0]
    share = _share(form_counts, usual)
    if share is None or share <= TOO_MANY_MALFORMED:
        return usual
    return min(protocols, key=lambda protocol: (_share(form_counts, protocol) or 0.0, protocol is not usual))


def _share(form_counts: KnownForms, protocol: ToolProtocol) -> float | None:
    """The share of malformed replies where a form counts as known."""
    counts = form_counts.get(protocol, FormCounts())
    return counts.malformed_share if counts.replies >= ENOUGH else None
