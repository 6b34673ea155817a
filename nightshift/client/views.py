"""Turns the daemon's answers into blocks that can be printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightshift.client.output import Block, Cell, Fields, Lines, Table, Tone, cell, cells, fields, stamp
from nightshift.core.events import Level
from nightshift.core.program import format_command
from nightshift.core.status import OverallState, sandbox_in_brief
from nightshift.core.tasks.states import ENDED, DaemonState, Status
from nightshift.core.text.formats import duration, money, percent, tokens
from nightshift.core.text.masking import printable

STATUS_TONE: Mapping[Status, Tone] = {
    Status.RUNNING: Tone.BUSY,
    Status.WAITING: Tone.WARN,
    Status.DONE: Tone.GOOD,
    Status.FAILED: Tone.BAD,
    Status.CANCELLED: Tone.DIM,
}
STATE_TONE: Mapping[OverallState, Tone] = {
    OverallState.OFFLINE: Tone.BAD,
    OverallState.PAUSED: Tone.WARN,
    OverallState.NO_MODEL: Tone.BAD,
    OverallState.NEEDS_YOU: Tone.WARN,
    OverallState.WORKING: Tone.GOOD,
}
LEVEL_TONE: Mapping[Level, Tone] = {Level.DEBUG: Tone.DIM, Level.WARNING: Tone.WARN, Level.ERROR: Tone.BAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """Turns the daemon's answers into blocks of output.

    If `short`, times are abbreviated, for a terminal; otherwise they are complete, for a pipe.
    """

    short: bool = False

    def at(self, time: str | None) -> Cell:
        """Return a time from an answer as a cell."""
        return stamp(time, short=self.short)

    def report(self, report: Any) -> list[Block]:
        """Return the daemon's status as blocks."""
        parts: list[tuple[Any, Callable[[Any], Block]]] = [
            (report, self._daemon), (report.workers, self._workers), (report.models, _models),
            (report.forges, self.forges), (report.holds, pause_reasons),
        ]  # fmt: skip
        notices = [Cell(f"note: {text}", Tone.WARN) for text in report.notices]
        return [*(make(part) for part, make in parts if part), *([Lines(lines=notices)] if notices else [])]

    def forges(self, forges: Sequence[Any]) -> Table:
        """Return the state of the connections to forges as a table."""
        rows = [
            cells(each.address, each.kind, self.at(each.looked_at), each.issues, each.pulls,
                  cell(_forge_state(each), Tone.WARN if each.fault or each.notes else Tone.GOOD))
            for each in forges
        ]  # fmt: skip
        return Table(head=("forge", "kind", "looked at", "issues", "drafts", "state"), rows=rows, spare=("kind",))

    def tasks(self, tasks: Sequence[Any]) -> list[Block]:
        """Return a list of tasks as a table."""
        head = ("id", "status", "ending", "prio", "iter", "created", "ended", "commit", "description")
        spare = ("iter", "prio", "created", "commit", "ending")
        rows = [
            cells(task.task_id, _status(task, task.status), task.ending, task.priority, task.iteration_count,
                  self.at(task.created_at), self.at(task.ended_at),
                  task.commit[:10] if task.commit else cell("draft" if task.has_draft else "", Tone.WARN),
                  task.description)
            for task in tasks
        ]  # fmt: skip
        return [Table(head=head, rows=rows, spare=spare)]

    def task(self, task: Any) -> list[Block]:
        """Return one task with all its fields, its description and its iterations as blocks."""
        blocks: list[Block] = [self._task_fields(task)]
        blocks.append(Lines(lines=[Cell(line) for line in printable(task.description).split("\n")]))
        if task.iterations:
            head = ("attempt", "iteration", "passed", "failed", "tests", "seconds", "phases")
            spare = ("seconds", "tests")
            blocks.append(Table(head=head, rows=[_iteration_row(row) for row in task.iterations], spare=spare))
        if task.pruned:
            blocks.append(Lines(lines=[Cell(note) for note in task.pruned]))
        return blocks

    def _task_fields(self, task: Any) -> Fields:
        draft = task.draft
        acts = ("retry {} --from-draft", "integrate {}", "discard {}") if draft else ()
        return fields(
            ("task", task.task_id),
            ("status", _status(task, f"{task.status} ({task.ending})" if task.ending else task.status)),
            ("reason", task.reason),
            ("cancelling", cell("at its next safe point", Tone.WARN) if task.cancel_requested else None),
            ("priority", cell(task.priority)),
            *((name, task[name]) for name in ("kind", "repo", "base", "project", "key")),
            ("depends on", ", ".join(map(str, task.depends_on))),
            ("subtask of", task.parent),
            ("subtasks", ", ".join(f"{child.task_id} ({child.status})" for child in task.children)),
            ("created", self.at(task.created_at)),
            ("not before", stamp(task.not_before, short=False) if task.not_before else None),
            ("started", self.at(task.started_at) if task.started_at else None),
            ("ended", self.at(task.ended_at) if task.ended_at else None),
            ("commit", cell(task.commit, Tone.GOOD) if task.commit else None),
            ("reverted", cell(f"by {task.reverted_by}", Tone.WARN) if task.reverted_by else None),
            ("branch", task.branch),
            ("draft", cell(draft.text, Tone.WARN) if draft else None),
            ("failing", ", ".join(draft.failing) if draft else None),
            ("look at it", draft.look if draft else None),
            ("continue with", ", ".join(format_command(act.format(task.task_id)) for act in acts)),
            ("attempt", cell(task.attempt)),
            ("iterations", cell(task.iteration_count)),
            ("spent", _format_spent(task)),
        )

    def approvals(self, answer: Any) -> list[Block]:
        """Return the open approvals as a table.

        The questions follow below it, because they must be readable in full.
        """
        if not answer.approvals:
            return [Lines(lines=[Cell("nothing needs your decision")])]
        rows = [
            cells(row.approval_id, row.task_id, cell(row.kind, Tone.WARN), self.at(row.asked_at), row.subject)
            for row in answer.approvals
        ]
        questions = [Cell(line) for row in answer.approvals for line in self._question(row)]
        table = Table(head=("id", "task", "kind", "asked", "subject"), rows=rows, spare=("kind",))
        return [table, Lines(lines=questions)]

    def _question(self, row: Any) -> list[str]:
        """Return the lines of a question. A last line names the answer that is assumed if nobody answers in time."""
        first, *more = row.question.strip().split("\n")
        asked = [f"{row.approval_id}: {first}", *(f"   {line}" for line in more)]
        if row.assumed_at is None:
            return asked
        return [*asked, f"   without an answer, used from {self.at(row.assumed_at).text}: {row.default}"]

    def logs(self, logs: Any) -> list[Block]:
        """Return events of the log as lines."""
        return [Lines(lines=[self.log_line(line) for line in logs.events])]

    def log_line(self, line: Any) -> Cell:
        """Return one event of the log as a line with the columns time, level, task, event and message."""
        text = line.message or (json.dumps(line.data, ensure_ascii=False) if line.data else "")
        time = stamp(line.timestamp, short=self.short).text
        task = "-" if line.task_id is None else str(line.task_id)
        columns = f"{time}  {line.level:<7}  {task:>5}  {line.event:<21}  {text}"
        return Cell(columns.rstrip(), LEVEL_TONE.get(line.level, Tone.PLAIN))

    def _daemon(self, report: Any) -> Fields:
        counts = ", ".join(f"{n} {status}" for status, n in report.queue.items() if n)
        overall, running, saved = report.overall, report.state != DaemonState.STOPPED, report.saved
        why = overall.why if running and not report.holds else ""
        since = f"version {report.version}, process {report.pid}, up {duration(report.uptime_s)}"
        isolation = "; ".join(sandbox_in_brief(report.sandbox_detail)) or report.sandbox
        commits = f"{report.unread} commit{'' if report.unread == 1 else 's'}, see {format_command('review')}"
        approvals = f"{report.approvals} open, see {format_command('approvals')}"
        return fields(
            ("state", cell(overall.text, STATE_TONE.get(overall.state, Tone.PLAIN))),
            ("why", cell(why, Tone.WARN) if why else None),
            ("until", self.at(overall.until) if overall.until else None),
            ("daemon", since if running else None),
            ("queue", counts or "empty"),
            ("forecast", report.forecast),
            ("", cell(report.forecast_range, Tone.DIM) if report.forecast_range else None),
            ("approvals", cell(approvals, Tone.WARN) if report.approvals else None),
            ("unread", cell(commits, Tone.WARN) if report.unread else None),
            ("sandbox", isolation if report.sandbox else None),
            ("engine", _format_saved(saved) if saved.saved or saved.solved else None),
            ("embedder", report.embedder),
            ("workspace", report.workspace),
            ("checkpoint", self.at(report.next_checkpoint_at)),
        )

    def _workers(self, workers: Sequence[Any]) -> Table:
        rows = [
            cells(worker.name, cell(worker.task_id, Tone.BUSY), worker.phase, worker.iteration or None,
                  self.at(worker.since), worker.done, worker.failed, worker.last_line or worker.description)
            for worker in workers
        ]  # fmt: skip
        head = ("worker", "task", "phase", "iteration", "since", "done", "failed", "doing")
        return Table(head=head, rows=rows, spare=("failed", "done", "since", "iteration"))


def _status(task: Any, text: str) -> Cell:
    return cell(text, STATUS_TONE.get(task.status, Tone.PLAIN))


def pause_reasons(holds: Sequence[Any]) -> Lines:
    """Return one line for each reason why no task is started, with the condition that ends it."""
    reasons = ((hold.label, f" ({hold.reason})" if hold.reason else "", hold.lifted_by) for hold in holds)
    return Lines(lines=[Cell(f"{title}{why}; continues {how}", Tone.WARN) for title, why, how in reasons])


def outcome(task: Any) -> Cell:
    """Describe in one line how a task ended, or its state if it has not ended."""
    text = f"task {task.task_id} {task.status}"
    if task.commit:
        text += f": commit {task.commit[:10]} on {task.branch}"
    elif task.ending or task.reason:
        text += ": " + ", ".join(filter(None, [task.ending and str(task.ending), task.reason]))
    if task.status in ENDED:
        tries = f"{task.iteration_count} iteration{'' if task.iteration_count == 1 else 's'}"
        text += f" ({tries}, {tokens(task.spent.tokens_in + task.spent.tokens_out)} tokens)"
    return Cell(text, STATUS_TONE.get(task.status, Tone.PLAIN))


def _format_saved(saved: Any) -> str:
    """Describe in one line how many replies the built-in engine saved."""
    share = f" ({percent(saved.saved / saved.replies)})" if saved.replies else ""
    tasks = f"{saved.solved} task{'' if saved.solved == 1 else 's'} solved without a model"
    return f"{saved.saved} of {saved.replies} replies saved{share} in {saved.days:g} days, {tasks}"


def _forms(model: Any) -> str:
    """Describe why a model is not asked in the default form, and how well it calls tools; empty if neither is known."""
    share = model.malformed_share
    calls = "" if share is None else f"tool calls: {model.protocol}, {percent(share)} malformed"
    return "; ".join(filter(None, (model.form, calls)))


def _forge_state(forge: Any) -> str:
    """Describe the state of a forge: its fault, its first note with the number of further notes, or "well"."""
    if forge.fault:
        return str(forge.fault)
    more = f" (and {len(forge.notes) - 1} more)" if len(forge.notes) > 1 else ""
    return f"{forge.notes[0]}{more}" if forge.notes else "well"


def _models(models: Sequence[Any]) -> Table:
    rows = [
        cells(model.name, model.model, cell("yes", Tone.GOOD) if model.available else cell("no", Tone.BAD),
              cell(model.circuit, Tone.PLAIN if model.circuit == "closed" else Tone.WARN), model.calls, model.failures,
              tokens(model.tokens_in + model.tokens_out), money(model.cost_usd, model.unpriced),
              "; ".join(filter(None, (model.detail, model.measured and f"solved {model.measured}", _forms(model)))))
        for model in models
    ]  # fmt: skip
    head = ("backend", "model", "available", "circuit", "calls", "failures", "tokens", "cost", "detail")
    return Table(head=head, rows=rows, spare=("circuit", "failures", "calls", "cost", "tokens"))


def _iteration_row(row: Any) -> list[Cell]:
    failed = cell(row.failed, Tone.BAD if row.failed else Tone.PLAIN)
    seconds = sum(phase.duration_s or 0 for phase in row.phases)
    phases = ", ".join(f"{phase.phase} {phase.outcome}" for phase in row.phases)
    return cells(row.attempt, row.iteration, cell(row.passed, Tone.GOOD), failed, row.total, duration(seconds), phases)


def _format_spent(task: Any) -> str:
    spent = task.spent
    used = f"{tokens(spent.tokens_in)} + {tokens(spent.tokens_out)} tokens"
    times = f"models {duration(spent.model_s)}, tests {duration(spent.suite_s)}"
    return f"{spent.model_calls} model calls, {used}, {money(spent.cost_usd, spent.unpriced)}, {times}"
