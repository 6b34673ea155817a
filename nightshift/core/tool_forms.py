"""Counts how reliably each model calls tools in each call format, and chooses the format to use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.tools import ToolProtocol

ENOUGH = 10
"""Number of replies from which the quality of a form counts as known."""
TOO_MANY_MALFORMED = 0.2
"""Share of malformed replies above which the default form is replaced by a better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCounts:
    """Counts of one model's replies in one form: correct tool calls, and replies that could not be parsed."""

    well: int = 0
    malformed: int = 0

    def __add__(self, other: FormCounts) -> FormCounts:
        return FormCounts(well=self.well + other.well, malformed=self.malformed + other.malformed)

    @property
    def replies(self) -> int:
        """The total number of replies, correct and malformed."""
        return self.well + self.malformed

    @property
    def malformed_share(self) -> float | None:
        """The share of replies that could not be parsed; None if there was no reply."""
        return self.malformed / self.replies if self.replies else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReport:
    """Counts of one step for one model in one form of tool calls."""

    backend: str
    model: str
    protocol: ToolProtocol
    counts: FormCounts


def form_reports(data: object) -> Iterator[FormReport]:
    """Read the reports in a step's data (`forms`): [[backend, model, protocol, well, malformed], …].

    Raises:
        ValueError: The data is not such a list.
    """
    for backend, model, protocol, well, malformed in data if isinstance(data, Sequence) else ():
        counts = FormCounts(well=int(well), malformed=int(malformed))
        yield FormReport(backend=backend, model=model, protocol=ToolProtocol(protocol), counts=counts)


KnownForms = Mapping[ToolProtocol, FormCounts]


def choose_form(protocols: Sequence[ToolProtocol], form_counts: KnownForms) -> ToolProtocol:
    """Choose the form in which a model is offered tools, if the request names no form.

    Args:
        protocols: The forms that the model's backend supports, the default form first; at least one.
        form_counts: The model's results in these forms.

    Returns:
        The default form, unless it is known to fail often and another form works better or is not known yet.
    """
    usual = protocols[0]
    share = _share(form_counts, usual)
    if share is None or share <= TOO_MANY_MALFORMED:
        return usual
    return min(protocols, key=lambda protocol: (_share(form_counts, protocol) or 0.0, protocol is not usual))


def _share(form_counts: KnownForms, protocol: ToolProtocol) -> float | None:
    """Return the share of malformed replies in a form; None if the form has too few replies to count as known."""
    counts = form_counts.get(protocol, FormCounts())
    return counts.malformed_share if counts.replies >= ENOUGH else None
