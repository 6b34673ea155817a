"""For each model, the arm with the best proven solve rate is chosen, and only compared settings are adopted."""

from __future__ import annotations

from nightshift.core.tasks.benchmarked import Compared
from nightshift.report.benchmark.choice import choose
from nightshift.report.benchmark.report import fold
from nightshift.report.benchmark.results import Arm
from tests.support.benchmarks import NEWEST, REPO, arm, items, results

ITEMS = items(20)


def choices(solved: dict[Arm, range], **used: float) -> dict[str, str]:
    """Return the chosen arm of each model."""
    selection = choose(
        fold(REPO, ITEMS, list(solved), [r for arm, n in solved.items() for r in results(arm, ITEMS, n)]).arms
    )
    return {choice.measured.model: choice.measured.arm for choice in selection}


def test_the_arm_that_surely_solves_most_is_chosen_for_each_model() -> None:
    baseline, tools = arm("plain"), arm("tools", tools=True)
    other = arm("other", model="small")
    assert choices({baseline: range(9), tools: range(15), other: range(2)}) == {
        "cloud=coder": "tools",
        "cloud=small": "other",
    }


def test_only_settings_that_were_compared_are_taken_over() -> None:
    arms = [arm("plain"), arm("edits", protocol="edit", tools=True), arm("whole", protocol="whole")]
    outcomes = [
        each
        for compared_arm, n in zip(arms, (3, 15, 4), strict=True)
        for each in results(compared_arm, ITEMS, range(n))
    ]
    (choice,) = choose(fold(REPO, ITEMS, arms, outcomes).arms)
    measured = choice.measured
    assert (measured.protocol, measured.tools, measured.taken) == ("edit", True, (Compared.PROTOCOL, Compared.TOOLS))
    assert (measured.solved, measured.items, measured.at) == (15, 20, NEWEST)
    assert measured.summary == "edits, tools"
    (alone,) = choose(fold(REPO, ITEMS, arms[1:2], outcomes).arms)
    assert alone.measured.taken == ()


def test_neither_arms_with_memory_nor_the_built_in_engine_are_chosen() -> None:
    assert not choices({arm("lessons", memory=True): range(20), arm("engine", backend="repair", model=""): range(20)})
