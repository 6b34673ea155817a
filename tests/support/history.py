"""Writes weeks of an invented daemon's records through the real stores.

The stores are queue, steps, replies, ledger, memory and log.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Step, Try
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict
from nightshift.storage.db.commit_ledger import CommitLedger, Pending
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.store import LongTermMemory
from tests.support.store import HandClock, Store, open_store

FIRST = datetime(2026, 9, 20, 6, tzinfo=UTC)
WEEK = timedelta(days=7)

WANTED = (
    ("library", "Parse durations such as 1h30m into seconds"),
    ("web_app", "Add a health check endpoint that reports the database"),
    ("cli_tool", "Let --dry-run show what would be deleted"),
    ("data_pipeline", "Skip rows whose date cannot be read, and count them"),
    ("library", "Cache the exchange rates for an hour"),
    ("web_app", "Log a user out on all devices when the password changes"),
    ("library", "Round invoice totals half to even"),
    ("cli_tool", "Exit with 2 on wrong usage"),
    (None, "Rename the field created to created_at | keep the old name readable"),
)
FILES = (
    ("src/durations.py", "tests/test_durations.py"),
    ("app/health.py", "app/routes.py", "tests/test_health.py"),
    ("cli/clean.py",),
    ("pipeline/rows.py", "pipeline/counts.py", "tests/test_rows.py"),
    ("rates/cache.py", "pyproject.toml"),
    ("app/auth/sessions.py", "app/auth/passwords.py", "migrations/0007_sessions.sql", "tests/test_sessions.py"),
    ("billing/invoice.py",),
    ("cli/main.py", "cli/usage.py", "Makefile"),
    ("models/record.py", "migrations/0008_created_at.sql", "scripts/backfill.sh"),
)
ERRORS = (
    ("AssertionError", "assert 5400 == 90", "Minutes were read as seconds: multiply before you add"),
    ("KeyError", "'created_at'", "Read the old name where the new one is missing"),
    ("TypeError", "unsupported operand type(s) for -: 'str' and 'datetime.datetime'", "Parse dates where they come in"),
    ("Timeout", "the tests were cut off after 60 s of processor time", ""),
    ("python.os-system", "hands a text to a shell", "Use subprocess.run with a list of words"),
)


MODELS = (("openai", "big", 3e-6), ("openai", "big", 3e-6), ("ollama", "small", None), ("repair", "repair", 0.0))


@dataclass
class History:
    """A daemon's database with methods that write its history; all times come from its clock."""

    store: Store
    clock: HandClock
    memory: LongTermMemory
    rng: random.Random
    models: tuple[tuple[str, str, float | None], ...] = MODELS
    """The models that answer, each with the same probability, as tuples of backend, name and price of a token."""

    @property
    def ledger(self) -> CommitLedger:
        return CommitLedger(self.store.db, self.store.events, clock=self.clock)

    def week(self, tasks: int = 12, *, skill: float = 0.8) -> None:
        """Write one week of records, starting at the clock's current time.

        `skill` scales the probability that a try passes.
        """
        start = self.clock.now
        self.tell(Kind.DAEMON_STARTED, "version 1.0, process 1")
        for number in range(tasks):
            self.clock.now = max(self.clock.now, start + WEEK * number / tasks * 0.97)
            self.task(skill)
            self.happen()
        self.clock.now = max(self.clock.now, start + WEEK * 0.98)
        self.tell(Kind.DAEMON_STOPPED, "stopped")
        self.clock.now = max(self.clock.now, start + WEEK)

    def happen(self) -> None:
        """At random, write an event outside the tasks, such as a pause, a model's failure or a restart."""
        chance = self.rng.random()
        if chance < 0.05:
            self.store.queue.add_pause(PauseSource.QUIET, "quiet hours").result()
            self.clock.advance(self.rng.randint(1, 5) * 3600)
            self.store.queue.remove_pause(PauseSource.QUIET).result()
        elif chance < 0.09:
            self.tell(Kind.MODEL_FAILED, "overloaded", Level.WARNING, backend="openai", error="RateLimited")
        elif chance < 0.11:
            models: dict[str, Any] = {"from": "openai=big", "to": "ollama=small"}
            self.tell(Kind.MODEL_FALLBACK, "answered instead", Level.WARNING, **models)
        elif chance < 0.13:
            self.clock.advance(60)
            self.tell(Kind.DAEMON_STARTED, "version 1.0, process 2")

    def task(self, skill: float) -> None:
        """Write the records of one task, from its submission to its end."""
        at = self.rng.randrange(len(WANTED))
        kind, text = WANTED[at]
        repo = "/home/owner/src/shop" if self.rng.random() < 0.3 else None
        self.store.queue.submit(parse_spec({"description": text, "kind": kind, "repo": repo})).result()
        self.clock.advance(self.rng.expovariate(1 / 90))
        task = self.store.queue.claim("w1").result()
        if task is None:
            return
        if self.rng.random() < 0.08:
            task = self.asked(task)
        self.work(task, at, skill)

    def asked(self, task: Task) -> Task:
        """Let the task wait for its owner, who answers hours later. Return the task after it was claimed again."""
        ask = Ask(kind=AskKind.PACKAGE, subject=f"package:toolz-{task.id}", question="May toolz be installed?")
        held = self.store.queue.wait_for_owner(task.id, task.fence, "waits", [ask]).result()
        assert held.status is Status.WAITING
        self.clock.advance(self.rng.randint(1, 12) * 3600)
        (approval,) = self.store.queue.approvals(task_id=task.id)
        self.store.queue.decide(approval.id, granted=self.rng.random() < 0.7).result()
        again = self.store.queue.claim("w1").result()
        assert again is not None
        return again

    def work(self, task: Task, at: int, skill: float) -> None:
        """Write the records of up to four tries, ending with the first that passes, and end the task."""
        wanted = self.memory.recall(task.spec.description, 2, task_id=task.id, attempt=task.attempt)
        lessons = tuple(asyncio.run(wanted))
        work = AttemptState(phase=Phase.CODING, base="0" * 40, attempt=task.attempt, lessons=lessons, models=("big",))
        work = self.step(task, work, Phase.PLANNING)
        passed = False
        if lessons:
            self.tell(Kind.LESSON_RECALLED, "recalled 1 lesson", task_id=task.id)
        for iteration in range(1, 5):
            passed = self.rng.random() < skill * (0.9 if iteration == 1 else 0.6)
            work = replace(work, iteration=iteration)
            work = self.step(task, work, Phase.CODING)
            work = replace(work, verdict=verdict(passed, ERRORS[(at + iteration) % len(ERRORS)]))
            work = self.step(task, work, Phase.TESTING, Outcome.OK if passed else Outcome.REDO)
            if passed:
                break
            work = self.failed(task, work, at)
        asyncio.run(self.memory.conclude(work, task.id, passed))
        self.end(task, work, at, passed)

    def failed(self, task: Task, work: AttemptState, at: int) -> AttemptState:
        """Remember a failed try, and return the state with the try added."""
        name = FILES[at][0]
        work = replace(work, change={name: f"x = {work.iteration}\n"})
        asyncio.run(self.memory.remember(work, task.id, task.spec.description))
        kinds = sorted({failure.kind for failure in work.verdict.failures}) if work.verdict else []
        self.tell(Kind.SUITE_JUDGED, "", kinds=kinds)
        advice = ERRORS[(at + work.iteration) % len(ERRORS)][2]
        new = Try(iteration=work.iteration, digest=str(work.iteration), failing=("test",), feedback="",
                  reflection=Reflection(suggested_fix=advice))  # fmt: skip
        return work.with_try(new)

    def step(self, task: Task, work: AttemptState, phase: Phase, outcome: Outcome = Outcome.OK) -> AttemptState:
        """Write a finished step and the reply that it used. TESTING uses no reply."""
        began = self.clock.now
        work = replace(work, step_no=work.step_no + 1)
        if phase is not Phase.TESTING:
            self.reply(task, work, phase)
        seconds = self.rng.uniform(2, 60)
        self.clock.advance(seconds)
        done = Step(phase=phase, outcome=outcome, state=work, note=f"{phase}: {outcome}")
        self.store.steps.save_step(
            task.id, task.attempt, task.fence, done, started_at=began, duration_s=seconds
        ).result()  # fmt: skip
        return work

    def reply(self, task: Task, work: AttemptState, phase: Phase) -> None:
        """Write a reply of a randomly chosen model.

        The reply was paid, or came from the owner's own machine, or came from the repair engine, which asks no model.
        """
        backend, model, price = self.rng.choice(self.models)
        asked = backend != "repair"
        tokens_in, tokens_out = asked * self.rng.randint(800, 9000), asked * self.rng.randint(80, 900)
        request = ModelRequest(
            phase=phase, messages=(Message(role="user", text="do it"),), task_id=task.id, attempt=task.attempt,
            step_no=work.step_no - 1, iteration=work.iteration,
        )  # fmt: skip
        reply = Completion(
            text="reply", backend=backend, model=model, tokens_in=tokens_in, tokens_out=tokens_out,
            cost_usd=None if price is None else price * (tokens_in + 4 * tokens_out),
            latency_s=self.rng.uniform(0.5, 30), extra={"saved": "openai=big"} if backend == "repair" else {},
        )  # fmt: skip
        self.store.steps.save_reply(request, reply).result()

    def end(self, task: Task, work: AttemptState, at: int, passed: bool) -> None:
        """End the task, with a commit if it passed."""
        if not passed:
            ending = self.rng.choice([Ending.GAVE_UP, Ending.STUCK, Ending.STUCK, Ending.REFUSED])
            reason = f"{ending}: after {work.iteration} tries. Last failure: test_{task.id}"
            self.store.queue.finish(task.id, task.fence, ending, reason=reason, iterations=work.iteration).result()
            return
        commit = hashlib.sha1(str(task.id).encode(), usedforsecurity=False).hexdigest()
        self.store.state.record_commit(self.commit(task, work, at, commit)).result()
        self.tell(Kind.COMMITTED, commit, task_id=task.id)
        self.store.queue.finish(
            task.id, task.fence, Ending.COMMITTED, reason="tests passed", commit=commit, iterations=work.iteration
        ).result()
        if self.rng.random() < 0.2:
            self.clock.advance(1800)
            self.ledger.review(task_id=task.id).result()

    def commit(self, task: Task, work: AttemptState, at: int, commit: str) -> Commit:
        """Return the ledger's row of a commit."""
        label = self.rng.choice([Label.TESTS_PASSED, Label.VERIFIED, Label.VERIFIED, Label.SELF_TESTED])
        files = tuple(
            ChangedFile(path=path, added=self.rng.randint(1, 180), removed=self.rng.randint(0, 60))
            for path in FILES[at]
        )
        signs = Signs(
            own_tests=("tests/test_own.py",) if label is Label.SELF_TESTED else (), tests_passed=7,
            escalations=int(work.iteration > 4), packages={"toolz": "1.0"} if at == 4 else {},
            findings=("python.pickle:app/cache.py",) if at == 8 else (),
        )  # fmt: skip
        return Commit(
            task_id=task.id, attempt=task.attempt, repo=task.spec.repo or "/srv/workspace", branch=f"agent/{task.id}-x",
            commit=commit, base="0" * 40, subject=task.spec.description, label=label, model="big",
            iterations=work.iteration, integrated=task.spec.repo is None, files=files, signs=signs, at=self.clock.now,
        )  # fmt: skip

    def revert(self, task_id: int) -> None:
        """Revert a task's commit, as the owner would."""
        (entry,) = self.ledger.page(1, task_id=task_id)
        done = Pending(entry=entry.id, by="f" * 40, reapply=False)
        event = Event(
            kind=Kind.REVERTED, task_id=task_id, data={"commit": entry.commit, "by": done.by, "reapplied": False}
        )
        self.ledger.settle(done, event).result()

    def tell(self, kind: Kind, text: str, level: Level = Level.INFO, task_id: int | None = None, **data: Any) -> None:
        """Write an event."""
        event = Event(kind=kind, level=level, message=text, task_id=task_id, data=data, at=self.clock.now)
        self.store.db.write(lambda conn: self.store.events.append(conn, event)).result()


def verdict(passed: bool, error: tuple[str, str, str]) -> Verdict:
    """Return a verdict with one failure, or with none if it passed."""
    failure = Failure(id="tests/test_x.py::test", kind=error[0], message=error[1], frame="x.py:3 in f")
    result = Result.PASSED if passed else Result.FAILED
    return Verdict(
        passed=passed,
        reason="" if passed else error[1],
        evidence=Evidence(tree="t", sandbox="bubblewrap", label=Label.TESTS_PASSED),
        results=(CaseResult(id="tests/test_x.py::test", result=result),),
        failures=() if passed else (failure,),
    )


@contextmanager
def open_history(path: Path, *, seed: int = 1, first: datetime = FIRST) -> Iterator[History]:
    """Open an empty history that begins at `first`."""
    clock = HandClock()
    clock.now = first
    with open_store(path, clock) as store:
        memory = LongTermMemory(store.db, choose("hashed"), clock=clock, emit=store.events.emit, control_share=0.4)
        yield History(store, clock, memory, random.Random(seed))
        memory.close()
