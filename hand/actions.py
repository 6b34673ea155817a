"""What each action does, through whichever door there is; every one returns an exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.submission import as_input
from hand.asked import Action, Asked
from hand.blocks import Cell, Lines
from hand.carrying import export_memory, export_training, import_memory
from hand.commits import revert, reviewed, undo, unread
from hand.deciding import answer, approvals, decide
from hand.door import Verb
from hand.exits import Exit
from hand.following import follow_logs, run, wait
from hand.forks import fork
from hand.hand import Hand
from hand.renewing import notify_test, reload
from hand.reporting import report
from hand.service import install, uninstall
from hand.steering import prioritise, retry_failed
from hand.verifying import verify
from hand.views import held


def perform(asked: Asked) -> int:
    """Do what was asked.

    Raises:
        NightshiftError: it could not be done; `hand.exits` knows which code that is.
    """
    if asked.action is Action.DOCTOR:  # it must go where no hand can be made, such as with broken settings
        return examine(None, asked)
    return do(Hand(asked), asked)


def do(hand: Hand, asked: Asked) -> int:
    """Do one thing with a hand that may do others after it."""
    try:
        return ACTIONS[asked.action](hand, asked)
    finally:
        hand.let_go()


def add(hand: Hand, asked: Asked) -> int:
    """Submit a task."""
    added = hand.door.submit(asked.data)
    task = added.task
    known = "" if added.new else ", known by its key"
    line = Cell(f"task {task.task_id} {task.status}{known}")
    told = {"task_id": task.task_id, "status": task.status, "new": added.new, "differs": list(task.differs)}
    hand.result(told, line)
    if task.differs:
        hand.out.note(f"this key made another task before: {', '.join(task.differs)} differ; send it under another key")
    hand.say_if_down("the task waits in the queue until it starts")
    return Exit.OK


def load(hand: Hand, asked: Asked) -> int:
    """Submit the entries of a file, each under its key; a broken file is refused whole."""
    assert asked.path is not None
    from intake.inbox import with_ids  # noqa: PLC0415  # it brings YAML and the watcher of files
    from intake.tasks_file import load_file  # noqa: PLC0415  # as above

    reading, ids = load_file(asked.path), dict[str, int]()
    rows: list[Mapping[str, object]] = []
    for entry in reading.entries:
        added = hand.door.submit(as_input(with_ids(entry, ids)))
        ids[entry.key] = added.task.task_id
        rows.append({"task_id": added.task.task_id, "status": added.task.status, "new": added.new, "line": entry.line})
    if hand.out.as_json:
        hand.out.mapping({"tasks": rows, "notices": list(reading.notices)})
        return Exit.OK
    for row in rows:
        what = row["status"] if row["new"] else "known"
        hand.out.line(Cell(f"task {row['task_id']} {what} (line {row['line']})"))
    for notice in reading.notices:
        hand.out.note(notice)
    hand.out.note(f"{sum(bool(row['new']) for row in rows)} new of {len(rows)} tasks")
    hand.say_if_down("the tasks wait in the queue until it starts")
    return Exit.OK


def status(hand: Hand, _: Asked) -> int:
    """What the daemon does now."""
    report = hand.door.report()
    hand.answer(report, hand.views.report(report))
    return _live(hand)


def logs(hand: Hand, asked: Asked) -> int:
    """The last events, and what happens next where that was asked for."""
    follow_logs(hand, asked)
    return _live(hand)


def history(hand: Hand, asked: Asked) -> int:
    """The newest tasks."""
    tasks = hand.door.tasks(asked.count)
    if hand.out.as_json:
        hand.out.documents([task.model_dump_json() for task in tasks.tasks])
    else:
        hand.out.blocks(hand.views.tasks(tasks))
    return Exit.OK


def show(hand: Hand, asked: Asked) -> int:
    """One task in full."""
    task = hand.door.task(asked.task_id)
    hand.answer(task, hand.views.task(task))
    return Exit.OK


def act(hand: Hand, asked: Asked) -> int:
    """Cancel or retry a task."""
    moved = hand.door.act(Verb.CANCEL if asked.action is Action.CANCEL else Verb.RETRY, asked.task_id)
    later = ", to be cancelled at its next safe point" if moved.cancel_requested else ""
    hand.answer_line(moved, Cell(f"task {moved.task_id} {moved.status}{later}"))
    return Exit.OK


def pause(hand: Hand, asked: Asked) -> int:
    """Pause or resume the daemon."""
    paused = asked.action is Action.PAUSE
    answer = hand.door.pause(paused)
    state = str(answer.state) if hand.door.live else ("paused" if answer.holds else "not paused")
    hand.answer(answer, [Lines(lines=[Cell(state), *(() if paused else held(answer.holds).lines)])])
    hand.say_if_down(f"it will start {'without claiming tasks' if answer.holds else 'working'}")
    return Exit.OK


def checkpoint(hand: Hand, _: Asked) -> int:
    """Have a checkpoint held now."""
    answer = hand.door.checkpoint()
    if answer.asked:
        line = "checkpoint: what runs finishes, then the report is written and nothing is begun until you resume"
    else:
        line = "a checkpoint is under way or waits for you already; `cli.py --resume` lets tasks go on"
    hand.answer_line(answer, Cell(line))
    hand.say_if_down("its next start holds the checkpoint" if answer.asked else "it will start without claiming tasks")
    return Exit.OK


def examine(_: Hand | None, asked: Asked) -> int:
    """Check everything."""
    from hand.doctoring import doctor  # noqa: PLC0415  # needed here alone

    return doctor(asked)


def completion(hand: Hand, asked: Asked) -> int:
    """The script that completes our options."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415  # needed here alone

    from hand.command import command  # noqa: PLC0415  # it imports this module

    shell = get_completion_class(asked.shell)
    assert shell is not None
    hand.out.document(shell(command, {}, "cli.py", "_CLI_PY_COMPLETE").source())
    return Exit.OK


def prompt(hand: Hand, asked: Asked) -> int:
    """The interactive prompt."""
    from hand.prompt import Prompt  # noqa: PLC0415  # it imports this module

    return Prompt(hand, asked).run()


def _live(hand: Hand) -> int:
    if hand.door.live:
        return Exit.OK
    hand.out.note(f"{hand.choice.why_not_live}; this is what the database says")
    return Exit.DAEMON_DOWN


ACTIONS: Mapping[Action, Callable[[Hand, Asked], int]] = {
    Action.ADD: add,
    Action.RUN: run,
    Action.LOAD: load,
    Action.STATUS: status,
    Action.LOGS: logs,
    Action.HISTORY: history,
    Action.SHOW: show,
    Action.WAIT: wait,
    Action.CANCEL: act,
    Action.RETRY: act,
    Action.RETRY_FAILED: retry_failed,
    Action.PRIORITISE: prioritise,
    Action.FORK: fork,
    Action.PAUSE: pause,
    Action.RESUME: pause,
    Action.CHECKPOINT: checkpoint,
    Action.APPROVALS: approvals,
    Action.APPROVE: decide,
    Action.DENY: decide,
    Action.ANSWER: answer,
    Action.VERIFY: verify,
    Action.REPORT: report,
    Action.DOCTOR: examine,
    Action.EXPORT_MEMORY: export_memory,
    Action.IMPORT_MEMORY: import_memory,
    Action.EXPORT_TRAINING: export_training,
    Action.UNREAD: unread,
    Action.REVIEWED: reviewed,
    Action.REVERT: revert,
    Action.REAPPLY: revert,
    Action.UNDO: undo,
    Action.RELOAD: reload,
    Action.NOTIFY_TEST: notify_test,
    Action.INSTALL_SERVICE: install,
    Action.UNINSTALL_SERVICE: uninstall,
    Action.COMPLETION: completion,
    Action.PROMPT: prompt,
}
