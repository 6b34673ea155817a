"""The daemon's answers for a terminal: each function turns an answer into blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightshift.client.output import Block, Cell, Fields, Lines, Table, Tone, cell, stamp
from nightshift.core.events import Level
from nightshift.core.program import typed
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
    """Makes the blocks; `short` times are for a terminal, whole ones for a pipe."""

    short: bool = False

    def report(self, report: Any) -> list[Block]:
        """The daemon as a whole."""
        blocks: list[Block] = [Fields(pairs=self._daemon(report))]
        if report.workers:
            blocks.append(self._workers(report))
        if report.models:
            blocks.append(_models(report))
        if report.forges:
            blocks.append(self.forges(report.forges))
        if report.holds:
            blocks.append(pause_reasons(report.holds))
        if report.notices:
            blocks.append(Lines(lines=[Cell(f"note: {text}", Tone.WARN) for text in report.notices]))
        return blocks

    def forges(self, forges: Sequence[Any]) -> Table:
        """The connections to forges."""
        rows = [
            [
                cell(each.address),
                cell(each.kind),
                stamp(each.looked_at, short=self.short),
                cell(each.issues),
                cell(each.pulls),
                cell(_forge_state(each), Tone.WARN if each.fault or each.notes else Tone.GOOD),
            ]
            for each in forges
        ]
        return Table(head=("forge", "kind", "looked at", "issues", "drafts", "state"), rows=rows, spare=("kind",))

    def tasks(self, tasks: Sequence[Any]) -> list[Block]:
        """A list of tasks."""
        head = ("id", "status", "ending", "prio", "iter", "created", "ended", "commit", "description")
        spare = ("iter", "prio", "created", "commit", "ending")
        return [Table(head=head, rows=[self._task_row(task) for task in tasks], spare=spare)]

    def _task_row(self, task: Any) -> list[Cell]:
        return [
            cell(task.task_id),
            cell(task.status, STATUS_TONE.get(task.status, Tone.PLAIN)),
            cell(task.ending),
            cell(task.priority),
            cell(task.iteration_count),
            stamp(task.created_at, short=self.short),
            stamp(task.ended_at, short=self.short),
            cell(task.commit[:10]) if task.commit else cell("draft" if task.has_draft else "", Tone.WARN),
            cell(task.description),
        ]

    def task(self, task: Any) -> list[Block]:
        """One task in full."""
        blocks: list[Block] = [Fields(pairs=self._task_fields(task))]
        blocks.append(Lines(lines=[Cell(line) for line in printable(task.description).split("\n")]))
        if task.iterations:
            head = ("attempt", "iteration", "passed", "failed", "tests", "seconds", "phases")
            spare = ("seconds", "tests")
            blocks.append(Table(head=head, rows=[_iteration_row(row) for row in task.iterations], spare=spare))
        if task.pruned:
            blocks.append(Lines(lines=[Cell(note) for note in task.pruned]))
        return blocks

    def _task_fields(self, task: Any) -> list[tuple[str, Cell]]:
        asked = (
            ("kind", task.kind),
            ("repo", task.repo),
            ("base", task.base),
            ("project", task.project),
            ("key", task.key),
        )
        after = ", ".join(map(str, task.depends_on))
        kin = (("depends on", after), ("subtask of", task.parent), ("subtasks", ", ".join(map(_child, task.children))))
        given = [(name, cell(value)) for name, value in (*asked, *kin) if value]
        times = ("started", task.started_at), ("ended", task.ended_at)
        ending = f"{task.status} ({task.ending})" if task.ending else str(task.status)
        return [
            ("task", cell(task.task_id)),
            ("status", cell(ending, STATUS_TONE.get(task.status, Tone.PLAIN))),
            *([("reason", cell(task.reason))] if task.reason else []),
            *([("cancelling", cell("at its next safe point", Tone.WARN))] if task.cancel_requested else []),
            ("priority", cell(task.priority)),
            *given,
            ("created", stamp(task.created_at, short=self.short)),
            *([("not before", stamp(task.not_before, short=False))] if task.not_before else []),
            *((name, stamp(at, short=self.short)) for name, at in times if at),
            *([("commit", cell(task.commit, Tone.GOOD))] if task.commit else []),
            *([("reverted", cell(f"by {task.reverted_by}", Tone.WARN))] if task.reverted_by else []),
            *([("branch", cell(task.branch))] if task.branch else []),
            *(_draft_fields(task.task_id, task.draft) if task.draft else []),
            ("attempt", cell(task.attempt)),
            ("iterations", cell(task.iteration_count)),
            ("spent", cell(_format_spent(task))),
        ]

    def approvals(self, found: Any) -> list[Block]:
        """List the approvals; the questions stand below the table, because they must be read to their end."""
        if not found.approvals:
            return [Lines(lines=[Cell("nothing needs your decision")])]
        rows = [
            [
                cell(row.approval_id),
                cell(row.task_id),
                cell(row.kind, Tone.WARN),
                stamp(row.asked_at, short=self.short),
                cell(row.subject),
            ]
            for row in found.approvals
        ]
        questions = [Cell(line) for row in found.approvals for line in self._question(row)]
        table = Table(head=("id", "task", "kind", "asked", "subject"), rows=rows, spare=("kind",))
        return [table, Lines(lines=questions)]

    def _question(self, row: Any) -> list[str]:
        """Return the lines of a question, and the answer that is assumed where nobody answers."""
        first, *more = row.question.strip().split("\n")
        asked = [f"{row.approval_id}: {first}", *(f"   {line}" for line in more)]
        if row.assumed_at is None:
            return asked
        return [*asked, f"   assumed from {stamp(row.assumed_at, short=self.short).text} on: {row.default}"]

    def logs(self, logs: Any) -> list[Block]:
        """Events, one a line."""
        return [Lines(lines=[self.log_line(line) for line in logs.events])]

    def log_line(self, line: Any) -> Cell:
        """One event: time, level, task, event and message in columns."""
        text = line.message or (json.dumps(line.data, ensure_ascii=False) if line.data else "")
        time = stamp(line.timestamp, short=self.short).text
        task = "-" if line.task_id is None else str(line.task_id)
        columns = f"{time}  {line.level:<7}  {task:>5}  {line.event:<21}  {text}"
        return Cell(columns.rstrip(), LEVEL_TONE.get(line.level, Tone.PLAIN))

    def _daemon(self, report: Any) -> list[tuple[str, Cell]]:
        counts = ", ".join(f"{n} {status}" for status, n in report.queue.items() if n)
        overall, running = report.overall, report.state != DaemonState.STOPPED
        isolation = "; ".join(sandbox_in_brief(report.sandbox_detail)) or report.sandbox
        since = f"version {report.version}, process {report.pid}, up {duration(report.uptime_s)}"
        return [
            ("state", cell(overall.text, STATE_TONE.get(overall.state, Tone.PLAIN))),
            *([("why", cell(overall.why, Tone.WARN))] if overall.why and running and not report.holds else []),
            *([("until", stamp(overall.until, short=self.short))] if overall.until else []),
            *([("daemon", cell(since))] if running else []),
            ("queue", cell(counts or "empty")),
            *([("forecast", cell(report.forecast))] if report.forecast else []),
            *([("", cell(report.forecast_range, Tone.DIM))] if report.forecast_range else []),
            *(
                [("approvals", cell(f"{report.approvals} open, see {typed('approvals')}", Tone.WARN))]
                if report.approvals
                else []
            ),
            *([("unread", cell(_unread(report.unread), Tone.WARN))] if report.unread else []),
            *([("sandbox", cell(isolation))] if report.sandbox else []),
            *([("engine", cell(_format_saved(report.saved)))] if report.saved.saved or report.saved.solved else []),
            *([("embedder", cell(report.embedder))] if report.embedder else []),
            *([("workspace", cell(report.workspace))] if report.workspace else []),
            ("checkpoint", stamp(report.next_checkpoint_at, short=self.short)),
        ]

    def _workers(self, report: Any) -> Table:
        rows = [
            [
                cell(worker.name),
                cell(worker.task_id, Tone.BUSY),
                cell(worker.phase),
                cell(worker.iteration or None),
                stamp(worker.since, short=self.short),
                cell(worker.done),
                cell(worker.failed),
                cell(worker.last_line or worker.description),
            ]
            for worker in report.workers
        ]
        head = ("worker", "task", "phase", "iteration", "since", "done", "failed", "doing")
        return Table(head=head, rows=rows, spare=("failed", "done", "since", "iteration"))


def pause_reasons(holds: Sequence[Any]) -> Lines:
    """Why no task is started, and what ends each reason."""
    reasons = ((hold.label, f" ({hold.reason})" if hold.reason else "", hold.lifted_by) for hold in holds)
    return Lines(lines=[Cell(f"{title}{why}; goes on {how}", Tone.WARN) for title, why, how in reasons])


def outcome(task: Any) -> Cell:
    """In a line, how a task stands or ended."""
    text = f"task {task.task_id} {task.status}"
    if task.commit:
        text += f": commit {task.commit[:10]} on {task.branch}"
    elif task.ending or task.reason:
        text += ": " + ", ".join(filter(None, [task.ending and str(task.ending), task.reason]))
    if task.status in ENDED:
        tries = f"{task.iteration_count} iteration{'' if task.iteration_count == 1 else 's'}"
        text += f" ({tries}, {tokens(task.spent.tokens_in + task.spent.tokens_out)} tokens)"
    return Cell(text, STATUS_TONE.get(task.status, Tone.PLAIN))


def _draft_fields(task_id: int, draft: Any) -> list[tuple[str, Cell]]:
    """A draft, how to look at it, and what can be done with it."""
    acts = [typed(f"retry {task_id} --from-draft"), typed(f"integrate {task_id}"), typed(f"discard {task_id}")]
    return [
        ("draft", cell(draft.text, Tone.WARN)),
        *([("failing", cell(", ".join(draft.failing)))] if draft.failing else []),
        ("look at it", cell(draft.look)),
        ("go on with it", cell(", ".join(acts))),
    ]


def _child(child: Any) -> str:
    """A subtask in a few words."""
    return f"{child.task_id} ({child.status})"


def _unread(count: int) -> str:
    """How many commits wait to be read."""
    return f"{count} commit{'' if count == 1 else 's'}, see {typed('review')}"


def _format_saved(saved: Any) -> str:
    """State the replies that the built-in engine saved, in a line."""
    share = f" ({percent(saved.saved / saved.replies)})" if saved.replies else ""
    tasks = f"{saved.solved} task{'' if saved.solved == 1 else 's'} solved without a model"
    return f"{saved.saved} of {saved.replies} replies saved{share} in {saved.days:g} days, {tasks}"


def _forms(model: Any) -> str:
    """How a model is asked where that is not as usual, and how it is offered tools, where that was tried."""
    share = model.malformed_share
    calls = "" if share is None else f"tool calls: {model.protocol}, {percent(share)} malformed"
    return "; ".join(filter(None, (model.form, calls)))


def _forge_state(forge: Any) -> str:
    """Whether it is well, or why not; with how many more there are where something was refused for several issues."""
    if forge.fault:
        return str(forge.fault)
    more = f" (and {len(forge.notes) - 1} more)" if len(forge.notes) > 1 else ""
    return f"{forge.notes[0]}{more}" if forge.notes else "well"


def _models(report: Any) -> Table:
    rows = [
        [
            cell(model.name),
            cell(model.model),
            cell("yes", Tone.GOOD) if model.available else cell("no", Tone.BAD),
            cell(model.circuit, Tone.PLAIN if model.circuit == "closed" else Tone.WARN),
            cell(model.calls),
            cell(model.failures),
            cell(tokens(model.tokens_in + model.tokens_out)),
            cell(money(model.cost_usd, model.unpriced)),
            cell("; ".join(filter(None, (model.detail, model.measured and f"solved {model.measured}", _forms(model))))),
        ]
        for model in report.models
    ]
    head = ("backend", "model", "available", "circuit", "calls", "failures", "tokens", "cost", "detail")
    return Table(head=head, rows=rows, spare=("circuit", "failures", "calls", "cost", "tokens"))


def _iteration_row(row: Any) -> Sequence[Cell]:
    counts = [cell(row.passed, Tone.GOOD), cell(row.failed, Tone.BAD if row.failed else Tone.PLAIN), cell(row.total)]
    seconds = sum(phase.duration_s or 0 for phase in row.phases)
    phases = ", ".join(f"{phase.phase} {phase.outcome}" for phase in row.phases)
    return [cell(row.attempt), cell(row.iteration), *counts, cell(duration(seconds)), cell(phases)]


def _format_spent(task: Any) -> str:
    spent = task.spent
    used = f"{tokens(spent.tokens_in)} + {tokens(spent.tokens_out)} tokens"
    times = f"models {duration(spent.model_s)}, tests {duration(spent.suite_s)}"
    return f"{spent.model_calls} model calls, {used}, {money(spent.cost_usd, spent.unpriced)}, {times}"
