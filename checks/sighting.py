"""What a scanner saw: a rule's name, a line, and what stands there."""

from __future__ import annotations

from dataclasses import dataclass

from core.gates import Severity


@dataclass(frozen=True, slots=True)
class Sighting:
    """`what` is shown in the message. `why` and `severity` are set where the rule is not in the catalogue.

    `argv` names the command that it is about, where it is about one.
    """

    rule: str
    line: int
    what: str
    why: str = ""
    argv: tuple[str, ...] = ()
    severity: Severity = Severity.BLOCK
