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
TRICKY = {
    "identity": ("the same object comes back", "a singleton", "a dataclass without equality", "pickled and copied",
                 "weak references and ends of life"),
    "mutation": ("arguments changed in place", "bytearray and memoryview are returned"),
    "state": ("tests that go on where others ended", "a registry that decorators fill", "lru_cache with its figures",
              "a cache that can be told apart from the work", "constants and a table of a module",
              "JavaScript: state of a module"),
    "callbacks": ("callbacks and lambdas", "closures that count", "events and those who listen",
                  "JavaScript: callbacks and this"),
    "generators": ("generators that are sent values", "generators that are taken by hand"),
    "own equality": ("equality across units", "a text that ignores case", "a polynomial with operators",
                     "a tuple that is a vector", "JavaScript: objects behind a Proxy"),
    "stand-ins": ("objects that stand in for others", "clocks that the tests hold",
                  "fixtures of a conftest in the base", "JavaScript: functions of node:test that stand in"),
    "around": ("what is printed and read from the keyboard", "log records", "settings from the environment",
               "relative paths and the working folder", "values that follow the context",
               "start a program in a subprocess"),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for names in TRICKY.values() for name in names])
async def test_a_right_answer_is_accepted(name: str, judge: Judge) -> None:
    pair = PAIRS[name]
    verdict = await judge(
        pair.change(pair.right), pair.given, pair.base, language=pair.language, held=_read_held(pair), cpu_s=30,
        whole_tree=False,
    )  # fmt: skip
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.twins >= 1


def test_none_of_them_is_known_to_be_refused() -> None:
    names = {name for names in TRICKY.values() for name in names}
    assert names <= PAIRS.keys() - ordinary.KNOWN_REFUSALS.keys()
    assert ordinary.KNOWN_REFUSALS.keys() <= PAIRS.keys()


def _read_held(pair: Pair) -> HeldOut:
    spec = TaskSpec(description=pair.name, tests=pair.given, language=pair.language)
    return hold(spec, pair.base, SHARE)
