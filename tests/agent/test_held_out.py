"""The loop with held-out cases.

No prompt shows the held-out cases. A change that only looks up the shown answers in a table is not committed. A change
that implements the rule is committed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nightshift.agent.machine import FIRST
from nightshift.core.dialogue import SAW_HELD_OUT, Completion, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.verdicts import Label
from nightshift.sandbox.runtime import open_runtime
from nightshift.verdict.held.holding import hold
from nightshift.verdict.runner import SuiteRunner
from tests.support.agent_parts import REFLECTION, Bench, block, case_for
from tests.support.sandboxes import RUNNER, bubblewrap, open_folder

P = Phase
TASK = "Write `twice` in double.py: the text two times, with a hyphen between."
WORDS = ("owl", "badger", "fox", "hedgehog", "marten", "lynx", "otter", "stoat")
GIVEN = {
    "tests/test_double.py": "from double import twice\n\n\ndef test_twice():\n"
    + "".join(f"    assert twice({word!r}) == {f'{word}-{word}'!r}\n" for word in WORDS)
}
RULE = block("double.py", 'def twice(text):\n    return f"{text}-{text}"\n')


class Cheat:
    """A model that reads the tests in its prompt and answers with a table of their expected values."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def complete(self, request: ModelRequest) -> Completion:
        prompt = "\n".join(message.text for message in request.messages)
        self.prompts.append(prompt)
        pairs = dict(re.findall(r"twice\('(\w+)'\) == '([\w-]+)'", prompt))
        table = block("double.py", f"KNOWN = {pairs!r}\n\n\ndef twice(text):\n    return KNOWN.get(text, '')\n")
        text = {P.PLANNING: "1. Write double.py.", P.CODING: table, P.REFLECTING: REFLECTION}[request.phase]
        return Completion(text=text, backend="scripted", model="cheat-1")


class Honest(Cheat):
    """A model that sees the same prompts as `Cheat`, but answers with code that implements the rule."""

    async def complete(self, request: ModelRequest) -> Completion:
        reply = await super().complete(request)
        return Completion(text=RULE, backend="scripted", model="rule-1") if request.phase is P.CODING else reply


def case_with(held: HeldOut, **fields: object) -> AttemptContext:
    return case_for(TASK, tests=GIVEN, held=held, whole_tree=False, **fields)


async def walk(model: Cheat, case: AttemptContext) -> tuple[AttemptState, Bench]:
    with open_folder() as folder:
        events: list[object] = []
        suite = SuiteRunner(bubblewrap(), open_runtime(RUNNER), emit=events.append, staging_dir=folder / "staging")
        bench = Bench(model, suite=suite)  # type: ignore[arg-type]  # it is a model by its method
        work = await bench.run(case, AttemptState(phase=FIRST, base="0" * 40))
        return work, bench


def read_held_out() -> tuple[HeldOut, list[str]]:
    held = hold(case_for(TASK, tests=GIVEN).task.spec, (), 0.25)
    hidden = [word for word in WORDS if any(word in case.args for case in held.cases if not case.shown)]
    assert len(hidden) == 2
    return held, hidden


async def test_a_table_of_the_shown_answers_is_never_committed_and_learns_nothing() -> None:
    held, hidden = read_held_out()
    cheat = Cheat()
    work, bench = await walk(cheat, case_with(held, iterations=3))
    assert work.phase is P.ABANDON
    assert work.ending in {Ending.GAVE_UP, Ending.STUCK}
    for word in hidden:
        assert not any(word in prompt for prompt in cheat.prompts)
        texts = [
            work.feedback,
            work.reason,
            *(f"{attempted.feedback}{attempted.failing}{attempted.reflection}" for attempted in work.tries),
        ]
        assert not any(word in text for text in texts)
        verdicts = [lesson.verdict for lesson in bench.memory.remembered if lesson.verdict]
        assert word not in repr([(verdict.reason, verdict.failures) for verdict in verdicts])
        assert word not in repr([(event.message, event.data) for event in bench.events])
    assert all(word in "\n".join(cheat.prompts) for word in set(WORDS) - set(hidden))
    assert "a held-out case of `twice` gives a wrong value" in work.feedback


async def test_a_rule_is_committed_as_verified_at_the_first_try() -> None:
    held, _ = read_held_out()
    work, _ = await walk(Honest(), case_with(held))
    assert (work.phase, work.iteration) == (P.COMMIT, 1), work.feedback
    assert work.verdict is not None
    assert (work.verdict.evidence.label, work.verdict.evidence.held_out) == (Label.VERIFIED, 2)


class Told(Honest):
    """An honest model that reports that it has seen held-out cases."""

    async def complete(self, request: ModelRequest) -> Completion:
        reply = await super().complete(request)
        return replace(reply, extra={SAW_HELD_OUT: True}) if request.phase is P.PLANNING else reply


async def test_what_its_author_has_seen_is_judged_and_is_no_witness() -> None:
    held, _ = read_held_out()
    work, _ = await walk(Told(), case_with(held))
    assert work.phase is P.COMMIT, work.feedback
    assert work.saw_held_out
    assert work.verdict is not None
    assert (work.verdict.evidence.label, work.verdict.evidence.held_out) == (Label.TESTS_PASSED, 0)
