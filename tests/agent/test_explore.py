"""The tool loop: what the model sees of its calls, when the conversation ends, and what never runs twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nightshift.agent.explore import BAD_REPLIES, KEPT_RESULTS
from nightshift.agent.services import AgentServices, AgentSettings
from nightshift.core.dialogue import Completion, Finish, ModelRequest, Thought
from nightshift.core.gauge import Gauge
from nightshift.core.isolation import Ended
from nightshift.core.shell import ShellJob, ShellResult
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Explore
from nightshift.core.tools import ToolCall, ToolPlace, ToolProtocol, ToolRecord
from tests.support.agent_parts import TESTS, Bench, case_for, model_for

P = Phase
BASE = {"add.py": "def add(a, b):\n    return a - b\n", "other.py": "X = 1\n"}
ON = AgentSettings(explore=Explore.ON)
LOOK = "```search\ndef add\n```"
READ = "```read_file path=add.py\n```"
EDIT = "```edit path=add.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```"
DONE = "```done\nAdd instead of subtracting\n```"


@dataclass
class Records:
    """A log of calls in memory, which a resumed attempt can read."""

    records: dict[ToolPlace, ToolRecord] = field(default_factory=dict)
    saved: list[ToolPlace] = field(default_factory=list)

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        return self.records.get(position)

    async def save(self, position: ToolPlace, record: ToolRecord) -> None:
        self.saved.append(position)
        self.records.setdefault(position, record)


@dataclass
class Shell:
    """A shell that gets its results from a function, and records its jobs."""

    answer: Callable[[ShellJob], ShellResult]
    jobs: list[ShellJob] = field(default_factory=list)

    async def execute(self, job: ShellJob) -> ShellResult:
        self.jobs.append(job)
        return self.answer(job)


@dataclass
class ToolBench(Bench):
    """A bench with a shell and a log of calls."""

    log: Records = field(default_factory=Records)
    shell: Shell | None = None
    window: int | None = None

    @property
    def tools(self) -> AgentServices:
        return replace(
            super().tools, tool_log=self.log, shell=self.shell, gauge=lambda _p, _e: Gauge(window=self.window)
        )


def bench_for(*codings: str | Completion, base: Mapping[str, str] = BASE, **more: Any) -> ToolBench:
    return ToolBench(model_for(*codings), base=base, settings=more.pop("settings", ON), **more)


def native(*calls: tuple[str, dict[str, Any]], text: str = "") -> Completion:
    tool_calls = tuple(ToolCall(name=name, arguments=given, id=f"c{n}") for n, (name, given) in enumerate(calls))
    finish = Finish.TOOL if tool_calls else Finish.STOP
    return Completion(
        text=text, backend="b", model="m", tool_calls=tool_calls, finish=finish, protocol=ToolProtocol.NATIVE
    )


def textual(text: str) -> Completion:
    return Completion(text=text, backend="b", model="m", protocol=ToolProtocol.TEXT)


def codings(bench: Bench) -> list[ModelRequest]:
    return [request for request in bench.model.requests if request.phase is P.CODING]


def last_text(request: ModelRequest) -> str:
    return request.messages[-1].text


async def test_a_model_looks_around_edits_and_is_done() -> None:
    bench = bench_for(LOOK, READ, EDIT, DONE)
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration, work.summary) == (P.COMMIT, 1, "Add instead of subtracting")
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
    asked = codings(bench)
    assert "add.py:1: def add(a, b):" in last_text(asked[1])
    assert "2      return a - b" in last_text(asked[2])
    assert "Edited add.py." in last_text(asked[3])
    assert [message.role for message in asked[3].messages] == ["system", *["user", "assistant"] * 3, "user"]
    assert [request.reply_key for request in asked] == [(7, 1, 1, n) for n in range(4)]
    step = next(step for step in bench.steps if step.phase is P.CODING)
    assert step.data["tool_calls"] == 4


async def test_native_calls_are_answered_one_by_one_by_their_ids() -> None:
    both = native(("search", {"pattern": "def add"}), ("read_file", {"path": "add.py"}), text="I look.")
    edit = native(("edit", {"path": "add.py", "old": "a - b", "new": "a + b"}))
    bench = bench_for(both, edit, native(("done", {"summary": "Add"})))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.summary) == (P.COMMIT, "Add")
    turn, first, second = codings(bench)[1].messages[-3:]
    assert (turn.role, turn.text, [call.id for call in turn.tool_calls]) == ("assistant", "I look.", ["c0", "c1"])
    assert [(m.role, m.call_id) for m in (first, second)] == [("tool", "c0"), ("tool", "c1")]
    assert {spec.name for spec in codings(bench)[0].tools} >= {"search", "edit", "done", "cannot"}


async def test_a_call_that_was_cut_off_is_not_run_and_said_to_be_cut() -> None:
    half = replace(native(("write_file", {"text": '{"path": "add.py", "cont'})), finish=Finish.LENGTH)
    edit = native(("edit", {"path": "add.py", "old": "a - b", "new": "a + b"}))
    bench = bench_for(half, edit, native(("done", {"summary": "Add"})))
    await bench.run(case_for(tests=TESTS))
    assert "cut off" in last_text(codings(bench)[1])
    assert "Field required" not in last_text(codings(bench)[1])


async def test_thoughts_and_marks_of_calls_go_back_with_the_turn() -> None:
    thought = Thought(text="I look first.", id="reasoning_content")
    look = ToolCall(name="Search", arguments={"pattern": "def"}, id="c1", details={"thought_signature": "x"})
    first = replace(native(("search", {})), tool_calls=(look,), thoughts=(thought,), author="openai=m")
    edit = native(("edit", {"path": "add.py", "old": "a - b", "new": "a + b"}))
    bench = bench_for(first, edit, native(("done", {"summary": "Add"})))
    await bench.run(case_for(tests=TESTS))
    turn = codings(bench)[1].messages[-2]
    assert (turn.thoughts, turn.author) == ((thought,), "openai=m")
    assert (turn.tool_calls[0].name, turn.tool_calls[0].details) == ("search", look.details)


PATCH = "*** Begin Patch\n*** Update File: add.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n"


@pytest.mark.parametrize(
    ("name", "given"),
    [("apply_patch", {"input": PATCH}), ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"]})],
)
async def test_a_patch_is_read_by_whatever_tool_it_comes(name: str, given: dict[str, Any]) -> None:
    bench = bench_for(native((name, given)), native(("done", {"summary": "Add"})))
    work = await bench.run(case_for(tests=TESTS))
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
    assert "Success" in last_text(codings(bench)[1])


@pytest.mark.parametrize("missed", [{"old": "a * b", "new": "a + b"}, {"old": "return", "new": "return"}])
async def test_two_edits_that_miss_a_file_make_the_tool_want_all_of_it(missed: dict[str, str]) -> None:
    miss = native(("edit", {"path": "add.py", **missed}))
    right = native(("edit", {"path": "add.py", "old": "a - b", "new": "a + b"}))
    rewrite = native(("write_file", {"path": "add.py", "content": "def add(a, b):\n    return a + b\n"}))
    bench = bench_for(miss, miss, right, rewrite, native(("done", {"summary": "Add"})))
    work = await bench.run(case_for(tests=TESTS))
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
    first, second, third = (last_text(request) for request in codings(bench)[1:4])
    assert "write_file" not in first
    assert "by write_file. It holds now:\ndef add(a, b):\n    return a - b\n" in second
    assert "missed 2 times" in third


async def test_an_unknown_tool_and_wrong_arguments_are_answered_and_cost_nothing_else() -> None:
    calls = native(("fly", {}), ("read_file", {"start": 1}), ("read_file", {"path": "../etc/passwd"}))
    bench = bench_for(calls, EDIT, DONE)
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    answers = [message.text for message in codings(bench)[1].messages[-3:]]
    assert "There is no tool 'fly'. The tools are: list_files," in answers[0]
    assert "read_file: path: Field required." in answers[1]
    assert "paths are relative to the repository's root" in answers[2]


async def test_replies_without_a_call_change_the_protocol_once_and_then_end_the_try() -> None:
    words = [textual("I would look at add.py.")] * (2 * BAD_REPLIES)
    bench = bench_for(*words, EDIT, DONE)
    work = await bench.run(case_for(tests=TESTS))
    asked = codings(bench)
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert [request.protocol for request in asked[: 2 * BAD_REPLIES]] == [
        *[None] * BAD_REPLIES,
        *[ToolProtocol.NATIVE] * BAD_REPLIES,
    ]
    assert "held no tool call" in last_text(asked[1])
    first = next(step for step in bench.steps if step.phase is P.CODING)
    assert first.data["forms"] == [["b", "m", "text", 0, 2 * BAD_REPLIES]]
    assert first.outcome is Outcome.REDO


async def test_the_same_call_again_and_again_is_warned_of_and_ends_the_step() -> None:
    bench = bench_for(READ, READ, READ, READ, EDIT, DONE)
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert "You made this very call before" in last_text(codings(bench)[3])
    assert "Nothing was changed: the same call came 4 times" in bench.steps[1].state.feedback


async def test_when_the_steps_are_used_up_what_was_changed_is_judged() -> None:
    settings = AgentSettings(explore=Explore.ON, explore_steps=3)
    bench = bench_for(READ, EDIT, LOOK, settings=settings)
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert "This is your last call." in last_text(codings(bench)[2])


async def test_old_results_are_masked_in_batches_and_say_so() -> None:
    base = {**BASE, **{f"m{n}.py": f"# {n}\n" * 200 for n in range(20)}}
    looks = [f"```read_file path=m{n}.py\n```" for n in range(KEPT_RESULTS + 6)]
    bench = bench_for(*looks, EDIT, DONE, base=base)
    await bench.run(case_for(tests=TESTS))
    masked = [sum("(left out, " in message.text for message in request.messages) for request in codings(bench)]
    assert masked == [*[0] * (KEPT_RESULTS + 5), *[5] * 3]


async def test_a_conversation_that_is_too_long_begins_afresh_with_what_was_done() -> None:
    base = {**BASE, **{f"m{n}.py": f"# {n} {'x' * 70}\n" * 90 for n in range(9)}}
    looks = [f"```read_file path=m{n}.py\n```" for n in range(9)]
    bench = bench_for(EDIT, *looks, DONE, base=base, window=12_000)
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    asked = codings(bench)
    fresh = [n for n, request in enumerate(asked) if "begins afresh" in "".join(m.text for m in request.messages)]
    assert fresh
    assert len(asked[fresh[0]].messages) < len(asked[fresh[0] - 1].messages)
    assert "edit add.py" in "".join(message.text for message in asked[fresh[0]].messages)


# Questions that the model asks the owner.


ASK = '```ask default="Latin letters"\nWhich alphabet?\n```'


async def test_a_question_goes_to_the_owner_and_the_try_goes_on_with_his_answer() -> None:
    bench = bench_for(EDIT, ASK, ASK, DONE)
    case = case_for(tests=TESTS)
    held = await bench.run(case)
    assert (held.phase, held.held_in, held.iteration) == (P.AWAITING_APPROVAL, P.CODING, 0)
    (ask,) = held.asks
    assert (ask.question, ask.default) == ("Which alphabet?", "Latin letters")
    assert held.change["add.py"] == "def add(a, b):\n    return a + b\n"
    going_on = replace(held, phase=P.CODING, held_in=None, asks=())
    answered = replace(case, granted=frozenset({ask.subject}), answers={ask.subject: "Greek"})
    work = await bench.run(answered, going_on)
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert "Greek" in codings(bench)[2].messages[1].text
    assert "His answer: Greek" in last_text(codings(bench)[3])


# Shell commands that the model runs.


def wrote(job: ShellJob) -> ShellResult:
    files = {"add.py": "def add(a, b):\n    return a + b\n", "tests/test_more.py": "x"}
    return ShellResult(
        exit_code=0, ended=Ended.EXITED, output="ok\n" * 9000, files=files, dropped={"a.bin": "is no text"}
    )


async def test_what_a_command_writes_becomes_part_of_the_change_as_far_as_it_may() -> None:
    shell = Shell(wrote)
    bench = bench_for(EDIT.replace("a + b", "a * b"), "```run timeout=7\nsed -i s/-/+/ add.py\n```", DONE, shell=shell)
    work = await bench.run(case_for(tests=TESTS))
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
    (job,) = shell.jobs
    assert (job.command, job.limits.cpu_s, dict(job.tests)) == ("sed -i s/-/+/ add.py", 7, TESTS)
    assert job.change == {"add.py": "def add(a, b):\n    return a * b\n"}
    output = last_text(codings(bench)[2])
    assert "… (16,999 characters, " in output
    assert "(exit code 0)\n(now part of the change: add.py)" in output
    assert "(not kept: a.bin is no text; tests/test_more.py is a test" in output


async def test_tests_are_run_as_they_are_and_their_failure_is_shaped() -> None:
    runs = ["```run_tests\n```", "```run_tests\ntest_add.py::test_add\n```", "```run_tests files=add.py\n```"]
    bench = bench_for(runs[0], EDIT, *runs[1:], "```run_tests\nnowhere\n```", DONE, shell=Shell(wrote))
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    outputs = [last_text(request) for request in codings(bench)]
    assert "1 of 1 tests failed." in outputs[1]
    assert "this is no verdict)" in outputs[1]
    assert "1 test passed\n(took" in outputs[3]
    assert "add.py is no test file." in outputs[4]
    assert "There is no file or folder nowhere." in outputs[5]


async def test_done_after_tests_that_failed_is_asked_back_once() -> None:
    wrong = EDIT.replace("a + b", "a * b")
    bench = bench_for(wrong, "```run_tests\n```", DONE, DONE, EDIT.replace("a - b", "a * b"), DONE, shell=Shell(wrote))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert "Not yet: the last run_tests failed." in last_text(codings(bench)[3])
    assert bench.walk[:3] == [P.PLANNING, P.CODING, P.TESTING]


# Resuming an attempt after a crash of the daemon.


class Died(Exception):
    """Raised where the daemon is supposed to die."""


@dataclass
class Mortal:
    """A model that stores its replies by position, as the gateway does, and dies at a given call."""

    model: Any
    dies_at: int
    replies: dict[Any, Completion] = field(default_factory=dict)
    bought: int = 0

    async def complete(self, request: ModelRequest) -> Completion:
        if request.reply_key in self.replies:
            return replace(self.replies[request.reply_key], replayed=True)
        if self.bought == self.dies_at:
            self.dies_at = -1
            raise Died
        self.bought += 1
        self.replies[request.reply_key] = await self.model.complete(request)
        return self.replies[request.reply_key]


REPLIES: Sequence[str] = (LOOK, "```run\nmake it\n```", READ, EDIT, DONE)


@pytest.mark.parametrize("dies_at", range(1, 1 + len(REPLIES)))
async def test_a_step_that_died_replays_replies_and_results_and_buys_and_runs_nothing_twice(dies_at: int) -> None:
    shell = Shell(lambda _job: ShellResult(exit_code=0, ended=Ended.EXITED, output="", files={"made.txt": "1\n"}))
    bench = bench_for(*REPLIES, shell=shell)
    mortal: Any = Mortal(bench.model, dies_at)
    bench.model = mortal
    stored: list[AttemptState] = []
    with pytest.raises(Died):
        await bench.run(case_for(tests=TESTS))
    stored += [step.state for step in bench.steps]
    work = await bench.run(case_for(tests=TESTS), stored[-1])
    assert work.phase is P.COMMIT
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n", "made.txt": "1\n"}
    assert (mortal.bought, len(shell.jobs)) == (1 + len(REPLIES), 1)


async def test_words_that_ended_a_conversation_end_it_again_when_it_is_replayed() -> None:
    edit = native(("edit", {"path": "add.py", "old": "a - b", "new": "a + b"}))
    bench = bench_for(edit, native(text="Adds instead of subtracting."))
    mortal: Any = Mortal(bench.model, dies_at=-1)
    bench.model = mortal
    first = await bench.run(case_for(tests=TESTS))
    again = await bench.run(case_for(tests=TESTS), bench.steps[0].state)
    assert (first.phase, again.phase, mortal.bought) == (P.COMMIT, P.COMMIT, 3)
    assert again.change == first.change
    assert bench.steps[-2].note == bench.steps[1].note == "wrote add.py"
