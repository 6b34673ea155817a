"""How clear a task is, by rule: a number between 0 and 1, from its words and from what came with it.

Tests, cases or a command that decide make a task clear whatever its words are. Without them the words must do: what is
to be made, where it goes, what goes in and comes out. The weights are set by hand; the score decides only whether one
question to a model is worth its price.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.tasks import TaskSpec

_NAMES = re.compile(r"`[^`\n]+`|\b[A-Za-z_]\w*\([^)\n]*\)|\b\w+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*")
_PLACES = re.compile(
    r"\b[\w/-]+\.[A-Za-z]{1,5}\b|\b(?:class|function|module|method|endpoint|table|file|command)s?\b", re.IGNORECASE
)
_EXAMPLES = re.compile(r"->|=>|==|→|\bfor example\b|\be\.g\.|\bsuch as\b|\breturns?\b|\braises?\b|```|/\w+/|\bwith\b")
_MAKING = re.compile(
    r"\s*(?:please\s+)?(?:write|add|create|implement|build|make|fix|rename|remove|replace|extract|return|support|port)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:better|nicer?|improve|clean ?up|optimi[sz]e|some|stuff|things?|somehow|properly|etc|various|modern|robust"
    r"|user[- ]friendly|as needed|appropriate|good|awesome|fancy)\b",
    re.IGNORECASE,
)
_WEIGHTS: Sequence[tuple[re.Pattern[str], float]] = ((_NAMES, 0.3), (_PLACES, 0.2), (_EXAMPLES, 0.2), (_MAKING, 0.15))
_LONG_WORDS = 12


def clarity(spec: TaskSpec) -> float:
    """How clear it is what the task asks for; 1 where something decides it."""
    if spec.tests or spec.cases or spec.test_command:
        return 1.0
    text = spec.description[:20_000]
    found = sum(weight for pattern, weight in _WEIGHTS if pattern.search(text))
    found += 0.15 * min(1.0, len(text.split()) / _LONG_WORDS)
    return round(max(0.0, min(1.0, found - 0.15 * min(3, len(_VAGUE.findall(text))))), 2)
