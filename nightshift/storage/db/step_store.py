"""Durable steps: each finished step of an attempt, and each model reply, is stored before the next one starts.

A daemon that died resumes at the interrupted step: `last_work` returns the attempt's state from which to continue. A
step that repeats a model call with the same key gets the stored reply instead of paying again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from nightshift.core.clock import Clock, Moment, to_text, utc_now
from nightshift.core.dialogue import Completion, Finish, ModelRequest
from nightshift.core.errors import StaleFence
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import Outcome, Phase, Status
from nightshift.core.tasks.task import Spent
from nightshift.core.tasks.verdicts import Result
from nightshift.core.text.masking import Masker
from nightshift.core.tools import ToolCall, form_reports
from nightshift.storage.db import artifacts, prompts, spending, tool_forms
from nightshift.storage.db.codec import decode, encode, read_row, storable, to_json_value
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A finished step.

    Attributes:
        work: digest of the case file (the attempt's state) after the step.
        passed: number of passed tests; None if no tests ran.
        failed: number of other tests; None if no tests ran.
        total: number of all tests; None if no tests ran.
    """

    attempt: int
    step_no: int
    iteration: int
    phase: Phase
    outcome: Outcome
    note: str
    data: Mapping[str, Any]
    work: str
    passed: int | None
    failed: int | None
    total: int | None
    started_at: datetime
    ended_at: datetime
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """The result and duration of one phase in an iteration."""

    phase: Phase
    outcome: Outcome
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRow:
    """One iteration of an attempt.

    Attributes:
        phases: its phases in order.
        passed: number of passed tests in its last test run; None if no tests ran.
        failed: number of other tests in that run; None if no tests ran.
        total: number of all tests in that run; None if no tests ran.
        lessons: number of lessons recalled for the attempt so far; None if it is not known.
    """

    attempt: int
    iteration: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_s: float
    started_at: Moment
    ended_at: Moment
    lessons: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A model call.

    Attributes:
        prompt: digest of the prompt (see `storage.db.prompts`).
        reply: digest of the reply's text.
        thoughts: the thoughts of the model, as far as the vendor shows them.
    """

    attempt: int
    step_no: int
    call_no: int
    iteration: int
    phase: Phase
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    finish: Finish
    prompt: str
    reply: str
    at: datetime
    tool_calls: tuple[ToolCall, ...] = ()
    thoughts: str = ""


def step_of(row: Row) -> StepRow:
    """Convert a row of the table `steps`."""
    return read_row(StepRow, row, data=json.loads(row["data"]))


def iteration_of(row: Row) -> IterationRow:
    """Convert a row of the table `iterations`."""
    phases = (
        PhaseTime(phase=Phase(phase), outcome=Outcome(outcome), duration_s=duration_s)
        for phase, outcome, duration_s in json.loads(row["phases"])
    )
    return read_row(IterationRow, row, phases=tuple(phases))


def call_of(row: Row) -> Call:
    """Convert a row of the table `replies`."""
    return read_row(
        Call,
        row,
        tool_calls=tuple(ToolCall(**call) for call in json.loads(row["tool_calls"] or "[]")),
        thoughts="\n\n".join(filter(None, (thought["text"] for thought in json.loads(row["thoughts"] or "[]")))),
    )


MAX_NOTE_CHARS = 2000

Place = tuple[int, int, int, int]

_LONG = [f"'$.prompts[0].{name}'" for name in ("sections", "whole", "outlined", "named")]
_OTHERS = ["'$.prompts[1]'"] * 12  # each removal moves the next prompt to this position
_BRIEF = (
    "attempt, step_no, iteration, phase, outcome, note, work, passed, failed, total, started_at, ended_at, duration_s, "
    f"json_remove(data, {', '.join([*_LONG, *_OTHERS])}) AS data"
)
"""Columns of a step for lists of steps. Their data contain only the first prompt, without its lists (sections and
files), which makes them a hundred times shorter.
"""

log = logging.getLogger(__name__)


class StepStore:
    """Stores and reads the steps, iterations and model calls of tasks.

    Args:
        db: the database.
        events: receives one event for each step, in the step's transaction.
        clock: returns the time of replies.
        mask: removes secrets from prompts and from notes of steps.
    """

    def __init__(self, db: Database, events: EventLog, *, clock: Clock = utc_now, mask: Masker | None = None) -> None:
        self._db, self._events, self._clock, self._mask = db, events, clock, mask or Masker()

    def save_step(
        self, task_id: int, attempt: int, fence: int, step: Step, *, started_at: datetime, duration_s: float
    ) -> Future[None]:
        """Store a finished step with its iteration's summary, its event and its counts of tool calls, all or nothing.

        `step.state.step_no` is the number of finished steps, including this one. The number of this step is one less,
        and its calls have the same number. The future fails with `StaleFence` if the task no longer belongs to this
        worker. Storing a step twice is harmless.
        """
        reports = [*form_reports(step.data.get("forms"))]

        def job(conn: Connection) -> None:
            if not is_owned(conn, task_id, fence):
                raise StaleFence
            if not _is_stored(conn, task_id, attempt, step):
                tool_forms.add(conn, reports)
            _insert_step(conn, task_id, attempt, step, started_at, duration_s, self._mask)
            _sum_up(conn, task_id, attempt, step.state)
            self._events.append(conn, _tell_finished(task_id, attempt, step, duration_s))

        return self._db.write_retrying(job)

    def last_work(self, task_id: int, attempt: int) -> AttemptState | None:
        """Return the state after the attempt's last stored step; None if no state is stored or readable."""
        query = "SELECT work FROM steps WHERE task_id = ? AND attempt = ? ORDER BY step_no DESC LIMIT 1"
        row = self._db.reader().execute(query, (task_id, attempt)).fetchone()
        return self.work(row["work"]) if row else None

    def work(self, digest: str) -> AttemptState | None:
        """Return the state with this digest; None if it is not stored or cannot be read."""
        text = self.artifact(digest)
        try:
            return decode(AttemptState, text) if text else None
        except ValueError as error:  # a version with other names wrote it
            log.warning("work from state %s starts again, the state cannot be read: %s", digest[:12], error)
            return None

    def timeline(self, task_id: int) -> list[StepRow]:
        """List all steps of a task, in order."""
        query = "SELECT * FROM steps WHERE task_id = ? ORDER BY attempt, step_no"
        return [step_of(row) for row in self._db.reader().execute(query, (task_id,))]

    def step(self, task_id: int, attempt: int, step_no: int) -> StepRow | None:
        """Read a finished step, or None."""
        query = "SELECT * FROM steps WHERE task_id = ? AND attempt = ? AND step_no = ?"
        row = self._db.reader().execute(query, (task_id, attempt, step_no)).fetchone()
        return row and step_of(row)

    def course(self, task_id: int, attempt: int) -> list[StepRow]:
        """List the steps of an attempt, in order.

        Their data contain only the first prompt, without its lists (sections and files).
        """
        query = f"SELECT {_BRIEF} FROM steps WHERE task_id = ? AND attempt = ? ORDER BY step_no"  # noqa: S608  a constant
        return [step_of(row) for row in self._db.reader().execute(query, (task_id, attempt))]

    def iterations(self, task_id: int) -> list[IterationRow]:
        """List all iterations of a task, in order. Iteration 0 contains the steps before the first iteration."""
        query = "SELECT * FROM iterations WHERE task_id = ? ORDER BY attempt, iteration"
        return [iteration_of(row) for row in self._db.reader().execute(query, (task_id,))]

    def reply(self, position: Place) -> Completion | None:
        """Return the reply stored for a call, marked as replayed; None if there is none yet."""
        query = "SELECT reply, rest FROM replies WHERE task_id = ? AND attempt = ? AND step_no = ? AND call_no = ?"
        row = self._db.reader().execute(query, position).fetchone()
        if row is None:
            return None
        return replace(decode(Completion, row["rest"]), text=self.artifact(row["reply"]) or "", replayed=True)

    def save_reply(self, request: ModelRequest, completion: Completion) -> Future[None]:
        """Store a reply that costs money. Its text and prompt are stored under its key, if it has one.

        If there is a second reply with the same key, its cost is counted, but the first reply stays stored.
        """
        at = to_text(self._clock())

        def job(conn: Connection) -> None:
            _insert_stats(conn, request, completion, at)
            if request.reply_key is not None:
                before = _prompt_before(conn, request) if request.tools else None
                prompt = prompts.put(conn, prompts.turns_of(request, completion), self._mask, before)
                _insert_reply(conn, request, completion, prompt, at)

        return self._db.write_retrying(job)

    def save_lost(self, request: ModelRequest, completion: Completion) -> Future[None]:
        """Store the cost of a reply that broke off. Such a reply costs money, but is never replayed."""
        at = to_text(self._clock())
        return self._db.write_retrying(lambda conn: _insert_stats(conn, request, completion, at, lost=True))

    def sum_spent_of(self, task_id: int) -> Spent:
        """Sum the usage of all model calls of a task, over all its attempts, whatever their result."""
        return spending.of_task(self._db.reader(), task_id)

    def calls(self, task_id: int, attempt: int | None = None, step_no: int | None = None) -> list[Call]:
        """List the stored model calls of a task, or only of one attempt or one step, in order."""
        query = (
            "SELECT attempt, step_no, call_no, iteration, phase, backend, model, tokens_in, tokens_out, cost_usd, "
            "latency_s, finish, prompt, reply, at, json_extract(rest, '$.tool_calls') AS tool_calls, "
            "json_extract(rest, '$.thoughts') AS thoughts FROM replies WHERE task_id = ? "
            "AND attempt = coalesce(?, attempt) AND step_no = coalesce(?, step_no) ORDER BY attempt, step_no, call_no"
        )
        return [call_of(row) for row in self._db.reader().execute(query, (task_id, attempt, step_no))]

    def prompt(self, digest: str) -> list[prompts.Turn]:
        """Return the messages of the prompt with this digest, as (role, text); empty if it is not stored."""
        return prompts.get(self._db.reader(), digest)

    def artifact(self, digest: str) -> str | None:
        """Return the text with this digest, or None if there is none."""
        return artifacts.get(self._db.reader(), digest)


def is_owned(conn: Connection, task_id: int, fence: int) -> bool:
    """Check whether the task still belongs to the worker with this fencing token."""
    query = "SELECT 1 FROM tasks WHERE id = ? AND fence = ? AND status = ?"
    return conn.execute(query, (task_id, fence, Status.RUNNING)).fetchone() is not None


def _is_stored(conn: Connection, task_id: int, attempt: int, step: Step) -> bool:
    query = "SELECT 1 FROM steps WHERE task_id = ? AND attempt = ? AND step_no = ?"
    return conn.execute(query, (task_id, attempt, step.state.step_no - 1)).fetchone() is not None


def _prompt_before(conn: Connection, request: ModelRequest) -> str | None:
    """Return the digest of the previous call's prompt in the same step; None if there was no earlier call."""
    query = (
        "SELECT prompt FROM replies WHERE task_id = ? AND attempt = ? AND step_no = ? AND call_no < ? "
        "ORDER BY call_no DESC LIMIT 1"
    )
    row = conn.execute(query, request.reply_key or ()).fetchone()
    return None if row is None else str(row["prompt"])


def _tell_finished(task_id: int, attempt: int, step: Step, duration_s: float) -> Event:
    """Return the event of a step, without its prompts, which are in its row and too long for a log line."""
    data = {name: value for name, value in step.data.items() if name != "prompts"}
    return Event(
        kind=Kind.STEP_FINISHED,
        message=step.note or f"{step.phase}: {step.outcome}",
        task_id=task_id,
        attempt=attempt,
        iteration=step.state.iteration,
        phase=step.phase,
        data={"outcome": step.outcome, "duration_s": round(duration_s, 3), **data, "step_no": step.state.step_no - 1},
    )


def _tests(step: Step) -> tuple[int | None, int | None, int | None]:
    """Count the passed tests, the other tests and all tests of a step; None for each if the step ran no tests."""
    verdict = step.state.verdict
    if step.phase is not Phase.TESTING or verdict is None or not verdict.results:
        return None, None, None
    passed, total = verdict.count(Result.PASSED), len(verdict.results)
    return passed, total - passed, total


def _insert_step(
    conn: Connection,
    task_id: int,
    attempt: int,
    step: Step,
    started_at: datetime,
    duration_s: float,
    mask: Masker,
) -> None:
    """Store the row of a step.

    The state is stored without masking, since a resumed attempt commits its content. The verdicts in the state, and the
    texts made from them, were masked when they were created.
    """
    conn.execute(
        "INSERT OR REPLACE INTO steps (task_id, attempt, step_no, iteration, phase, outcome, note, data, work, passed, "
        "failed, total, started_at, ended_at, duration_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(task_id, attempt, step.state.step_no - 1, step.state.iteration, step.phase, step.outcome),
            *(mask.clean(step.note, MAX_NOTE_CHARS), encode(mask.mask_data(to_json_value(step.data)))),
            artifacts.put(conn, encode(step.state)),
            *_tests(step),
            *(to_text(started_at), to_text(started_at + timedelta(seconds=duration_s)), duration_s),
        ),
    )


def _sum_up(conn: Connection, task_id: int, attempt: int, work: AttemptState) -> None:
    """Sum up the steps and calls of an iteration in its row.

    The sums are computed anew each time, so a call may be repeated.
    """
    where = (task_id, attempt, work.iteration)
    steps = conn.execute(
        "SELECT * FROM steps WHERE task_id = ? AND attempt = ? AND iteration = ? ORDER BY step_no", where
    ).fetchall()
    tokens_in, tokens_out, cost_usd = conn.execute(
        "SELECT TOTAL(tokens_in), TOTAL(tokens_out), TOTAL(cost_usd) FROM replies "
        "WHERE task_id = ? AND attempt = ? AND iteration = ?",
        where,
    ).fetchone()
    judged: Row | dict[str, None] = dict.fromkeys(("passed", "failed", "total"))
    for step in steps:
        judged = step if step["total"] is not None else judged
    conn.execute(
        "INSERT OR REPLACE INTO iterations (task_id, attempt, iteration, phases, passed, failed, total, tokens_in, "
        "tokens_out, cost_usd, duration_s, started_at, ended_at, lessons) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *where,
            json.dumps([[step["phase"], step["outcome"], step["duration_s"]] for step in steps]),
            *(judged["passed"], judged["failed"], judged["total"], int(tokens_in), int(tokens_out), cost_usd),
            *(sum(step["duration_s"] for step in steps), steps[0]["started_at"], steps[-1]["ended_at"]),
            len(work.lessons),
        ),
    )


def _insert_stats(
    conn: Connection, request: ModelRequest, completion: Completion, at: str, *, lost: bool = False
) -> None:
    conn.execute(
        "INSERT INTO model_stats (at, task_id, attempt, phase, backend, model, tokens_in, tokens_out, cost_usd, "
        "latency_s, saved, lost, kind, iteration) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(at, request.task_id, request.attempt, request.phase, completion.backend, completion.model),
            *(completion.tokens_in, completion.tokens_out, completion.cost_usd, completion.latency_s),
            *(storable(str(completion.extra.get("saved", ""))), lost, request.kind or "", request.iteration),
        ),
    )


def _insert_reply(conn: Connection, request: ModelRequest, completion: Completion, prompt: str, at: str) -> None:
    conn.execute(
        "INSERT INTO replies (task_id, attempt, step_no, call_no, iteration, phase, backend, model, tokens_in, "
        "tokens_out, cost_usd, latency_s, finish, prompt, reply, rest, at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            *(request.reply_key or ()),
            *(request.iteration, request.phase, completion.backend, completion.model),
            *(completion.tokens_in, completion.tokens_out, completion.cost_usd, completion.latency_s),
            *(completion.finish, prompt, artifacts.put(conn, completion.text)),
            *(encode(replace(completion, text="")), at),
        ),
    )
