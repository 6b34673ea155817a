"""What the figures suggest: each rule looks at one of them and names it in what it says."""

from __future__ import annotations

from collections.abc import Callable

from report import advice_on_guards, advice_on_work
from report.document import Line
from report.figures import Summary

Rule = Callable[[Summary], Line | None]

RULES: tuple[Rule, ...] = (*advice_on_guards.RULES, *advice_on_work.RULES)


def recommendations(summary: Summary) -> list[Line]:
    """What the figures suggest, each with the figure that it rests on; what needs you most comes first."""
    return [advice for rule in RULES if (advice := rule(summary))]
