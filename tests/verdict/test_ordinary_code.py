"""Right answers of ordinary code are accepted where a comparison of plain values would fail.

The examples depend on an object's identity, on remembered state, on the caller, or on the process's surroundings.
`bench/ordinary` has more examples.
"""

from __future__ import annotations

import pytest

from bench import ordinary
from bench.pairs import Pair
from nightshift.core.tasks.held_out import SHARE, HeldOut
from nightshift.core.tasks.task import TaskSpec
from nightshift.verdict.held.holding import hold
from tests.support.sandboxes import Judge

PAIRS = {pair.name: pair for pair in ordinary.pairs()}
TRICKY = (
    "the same object comes back", "arguments changed in place", "a registry that decorators fill",
    "closures that count",
    "generators that are sent values", "equality across units", "objects that stand in for others",
    "what is printed and read from the keyboard", "JavaScript: state of a module",
)  # fmt: skip


@pytest.mark.parametrize("name", TRICKY)
async def test_a_right_answer_is_accepted(name: str, judge: Judge) -> None:
    pair = PAIRS[name]
    verdict = await judge(
        pair.change(pair.right), pair.given, pair.base, language=pair.language, held=_read_held(pair), cpu_s=30,
        whole_tree=False,
    )  # fmt: skip
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.twins >= 1


def _read_held(pair: Pair) -> HeldOut:
    spec = TaskSpec(description=pair.name, tests=pair.given, language=pair.language)
    return hold(spec, pair.base, SHARE)
