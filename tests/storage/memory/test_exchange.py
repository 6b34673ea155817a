"""Lessons are exported on one machine and imported on another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightshift.core.errors import NotLessons
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.core.text.masking import Masker
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.exchange import lines, read, take
from nightshift.storage.memory.store import LongTermMemory
from tests.support.store import Store, open_store

ERROR = "unsupported operand type(s) for +: 'int' and 'str'"


def memory_of(store: Store) -> LongTermMemory:
    return LongTermMemory(store.db, choose("hashed"), clock=store.clock, emit=store.events.emit, control_share=0.0)


async def learn(store: Store, description: str) -> None:
    memory, task_id = memory_of(store), store.queue.submit(TaskSpec(description=description)).result().task_id
    failure = Failure(id="t.py::test", kind="TypeError", message=f"{ERROR} {description}", frame="shop.py:3 in total")
    evidence = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)
    verdict = Verdict(passed=False, reason="1 failed", evidence=evidence, failures=(failure,))
    failed = AttemptState(phase=Phase.REFLECTING, base="", change={"shop.py": "a\n"}, verdict=verdict)
    await memory.remember(failed, task_id, description)
    passed = AttemptState(phase=Phase.COMMIT, base="", change={"shop.py": f"b = '{description}'\n"})
    await memory.conclude(passed, task_id, True)


def export(store: Store, *secrets: str) -> str:
    return "".join(f"{line}\n" for line in lines(store.db.reader(), Masker(secrets)))


async def test_lessons_go_to_another_machine_and_are_recalled_there_each_on_its_own(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as source, open_store(tmp_path / "b.sqlite") as other:
        await learn(source, "Add the prices of a basket")
        await learn(source, "Add the weights of a parcel")
        text = export(source)
        taken = other.db.write(lambda conn: take(conn, read(text))).result()
        assert (taken.new, taken.known) == (4, 0)
        lessons = await memory_of(other).recall(f"TypeError: {ERROR}", 3)
        assert len([lesson for lesson in lessons if lesson.source == "failure"]) == 2
        assert export(other) == text


async def test_what_is_known_is_not_taken_twice(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        await learn(store, "Add the prices of a basket")
        taken = store.db.write(lambda conn: take(conn, read(export(store)))).result()
        assert (taken.new, taken.known) == (0, 2)


async def test_secrets_stay_at_home(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        await learn(store, "Log in with hunter22")
        assert "hunter22" in export(store)
        assert "hunter22" not in export(store, "hunter22")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[]", "line 2: must be a JSON object"),
        ('{"kind": "rumour"}', "line 2: it: Input tag 'rumour'"),
        (json.dumps({"kind": "failure", "signature": "", "error": "", "fix": ""}), "line 2: failure.created_at"),
    ],
)
async def test_a_faulty_line_is_named_and_nothing_is_taken(tmp_path: Path, line: str, why: str) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        await learn(store, "Add the prices of a basket")
        good = export(store).splitlines()
        with pytest.raises(NotLessons) as refused:
            read("\n".join([good[0], line, good[1]]))
        assert why in str(refused.value)
