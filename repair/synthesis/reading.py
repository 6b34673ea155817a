"""Reads what a search wrote, and words its result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from core.parsing import parse_quietly
from core.trials import Synthesised
from repair.trials.reading import rows
from verdict.answer import Trial

MOST = 5


@dataclass(slots=True)
class Heard:
    """What was heard of a run.

    `bodies` have their sizes; `examples` and `tried` expressions are counted, `cost` is how large these got, `ended`
    how the run did; with `full` the memory was used up.
    """

    bodies: dict[str, int] = field(default_factory=dict)
    examples: int = 0
    tried: int = 0
    cost: int = 0
    ended: str = ""
    full: bool = False


def read(trial: Trial | None) -> Heard:
    """The lines of a run."""
    heard = Heard(ended="" if trial is None else trial.how)
    for row in rows(trial):
        match row:
            case ["examples", int(count)]:
                heard.examples = count
            case ["found", str(body), int(size), int(_)]:
                heard.bodies[body] = size
            case ["tried", int(tried), int(cost), str(why)]:
                heard.tried, heard.cost = heard.tried + tried, max(heard.cost, cost)
                heard.full |= why == "memory"
    return heard


def told(heard: Heard, write: Callable[[str], str], budget_s: float) -> Synthesised:
    """The result in words; texts that are no single function are left out."""
    ordered = sorted(heard.bodies, key=lambda body: (heard.bodies[body], body))
    texts = [text for text in map(write, ordered) if _is_function(text)][:MOST]
    return Synthesised(
        texts=tuple(texts), why="" if texts else _why(heard, budget_s), examples=heard.examples, tried=heard.tried
    )  # fmt: skip


def _is_function(text: str) -> bool:
    tree = parse_quietly(text)
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef)


def _why(heard: Heard, budget_s: float) -> str:
    if not heard.ended:
        return "the run ended without an answer"
    if not heard.examples:
        return "neither the tests nor the docstring show what any call must give"
    examples = f"{heard.examples} example{'s' if heard.examples > 1 else ''}"
    within = "in the memory there is" if heard.full else f"within {budget_s:g} s"
    return f"{examples}, {heard.tried:,} expressions up to size {heard.cost} {within}, none fits"
