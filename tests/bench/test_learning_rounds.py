"""A task that is like one that was solved before takes fewer tries, and only because of memory."""

from __future__ import annotations

from pathlib import Path

from bench.learning import rounds
from bench.learning_families import FAMILIES
from tests.support.agent_parts import PlainSuite

SOME = [family for family in FAMILIES if family.name in ("the last page", "keys that are missing")]


async def test_the_second_task_of_a_family_takes_half_the_tries_or_less_with_memory(tmp_path: Path) -> None:
    with_memory = await rounds(tmp_path / "with", PlainSuite(), with_memory=True, families=SOME)
    first, second = (sum(done.iterations for done in column) for column in with_memory)
    assert (first, second) == (8, 2)
    without = await rounds(tmp_path / "without", PlainSuite(), with_memory=False, families=SOME)
    assert [sum(done.iterations for done in column) for column in without] == [8, 8]


def test_no_wrong_approach_holds_what_tells_a_fitting_lesson() -> None:
    for family in FAMILIES:
        assert family.sign in family.right
        assert not any(family.sign in body for body in family.wrong)
        assert not any(family.sign in words for words in family.words)
