"""What each action does, through whichever door there is; every one returns an exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from client.asked import Action, Asked
from client.blocks import Cell, Lines
from client.carrying import export_memory, export_training, import_memory
from client.commits import revert, reviewed, undo, unread
from client.deciding import answer, approvals, decide
from client.door import Verb
from client.exits import Exit
from client.following import follow_logs, run, wait
from client.forks import fork
from client.renewing import notify_test, reload
from client.reporting import report
from client.service import install, uninstall
from client.session import Session
from client.steering import prioritise, retry_failed
from client.verifying import verify
from client.views import held
from core.submission import as_input


def perform(asked: Asked) -> int:
    """Do what was asked.

    Raises:
        NightshiftError: it could not be done; `client.exits` knows which code that is.
    """
    if asked.action is Action.DOCTOR:  # it must go where no session can be made, such as with broken settings
        return examine(None, asked)
    return do(Session(asked), asked)


def do(session: Session, asked: Asked) -> int:
    """Do one thing with a session that may do others after it."""
    try:
        return ACTIONS[asked.action](session, asked)
    finally:
        session.let_go()


def add(session: Session, asked: Asked) -> int:
    """Submit a task."""
    added = session.door.submit(asked.data)
    task = added.task
    known = "" if added.new else ", known by its key"
    line = Cell(f"task {task.task_id} {task.status}{known}")
    told = {"task_id": task.task_id, "status": task.status, "new": added.new, "differs": list(task.differs)}
    session.result(told, line)
    if task.differs:
        session.out.note(
            f"this key made another task before: {', '.join(task.differs)} differ; send it under another key"
        )
    session.say_if_down("the task waits in the queue until it starts")
    return Exit.OK


def load(session: Session, asked: Asked) -> int:
    """Submit the entries of a file, each under its key; a broken file is refused whole."""
    assert asked.path is not None
    from intake.inbox import with_ids  # noqa: PLC0415  # it brings YAML and the watcher of files
    from intake.tasks_file import load_file  # noqa: PLC0415  # as above

    reading, ids = load_file(asked.path), dict[str, int]()
    rows: list[Mapping[str, object]] = []
    for entry in reading.entries:
        added = session.door.submit(as_input(with_ids(entry, ids)))
        ids[entry.key] = added.task.task_id
        rows.append({"task_id": added.task.task_id, "status": added.task.status, "new": added.new, "line": entry.line})
    if session.out.as_json:
        session.out.mapping({"tasks": rows, "notices": list(reading.notices)})
        return Exit.OK
    for row in rows:
        what = row["status"] if row["new"] else "known"
        session.out.line(Cell(f"task {row['task_id']} {what} (line {row['line']})"))
    for notice in reading.notices:
        session.out.note(notice)
    session.out.note(f"{sum(bool(row['new']) for row in rows)} new of {len(rows)} tasks")
    session.say_if_down("the tasks wait in the queue until it starts")
    return Exit.OK


def status(session: Session, _: Asked) -> int:
    """What the daemon does now."""
    report = session.door.report()
    session.answer(report, session.views.report(report))
    return _live(session)


def logs(session: Session, asked: Asked) -> int:
    """The last events, and what happens next where that was asked for."""
    follow_logs(session, asked)
    return _live(session)


def history(session: Session, asked: Asked) -> int:
    """The newest tasks."""
    tasks = session.door.tasks(asked.count)
    if session.out.as_json:
        session.out.documents([task.model_dump_json() for task in tasks.tasks])
    else:
        session.out.blocks(session.views.tasks(tasks))
    return Exit.OK


def show(session: Session, asked: Asked) -> int:
    """One task in full."""
    task = session.door.task(asked.task_id)
    session.answer(task, session.views.task(task))
    return Exit.OK


def act(session: Session, asked: Asked) -> int:
    """Cancel or retry a task."""
    moved = session.door.act(Verb.CANCEL if asked.action is Action.CANCEL else Verb.RETRY, asked.task_id)
    later = ", to be cancelled at its next safe point" if moved.cancel_requested else ""
    session.answer_line(moved, Cell(f"task {moved.task_id} {moved.status}{later}"))
    return Exit.OK


def pause(session: Session, asked: Asked) -> int:
    """Pause or resume the daemon."""
    paused = asked.action is Action.PAUSE
    answer = session.door.pause(paused)
    state = str(answer.state) if session.door.live else ("paused" if answer.holds else "not paused")
    session.answer(answer, [Lines(lines=[Cell(state), *(() if paused else held(answer.holds).lines)])])
    session.say_if_down(f"it will start {'without claiming tasks' if answer.holds else 'working'}")
    return Exit.OK


def checkpoint(session: Session, _: Asked) -> int:
    """Have a checkpoint held now."""
    answer = session.door.checkpoint()
    if answer.asked:
        line = "checkpoint: what runs finishes, then the report is written and nothing is begun until you resume"
    else:
        line = "a checkpoint is under way or waits for you already; `cli.py --resume` lets tasks go on"
    session.answer_line(answer, Cell(line))
    session.say_if_down(
        "its next start holds the checkpoint" if answer.asked else "it will start without claiming tasks"
    )
    return Exit.OK


def examine(_: Session | None, asked: Asked) -> int:
    """Check everything."""
    from client.doctoring import doctor  # noqa: PLC0415  # needed here alone

    return doctor(asked)


def completion(session: Session, asked: Asked) -> int:
    """The script that completes our options."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415  # needed here alone

    from client.command import command  # noqa: PLC0415  # it imports this module

    shell = get_completion_class(asked.shell)
    assert shell is not None
    session.out.document(shell(command, {}, "cli.py", "_CLI_PY_COMPLETE").source())
    return Exit.OK


def prompt(session: Session, asked: Asked) -> int:
    """The interactive prompt."""
    from client.prompt import Prompt  # noqa: PLC0415  # it imports this module

    return Prompt(session, asked).run()


def _live(session: Session) -> int:
    if session.door.live:
        return Exit.OK
    session.out.note(f"{session.choice.why_not_live}; this is what the database says")
    return Exit.DAEMON_DOWN


ACTIONS: Mapping[Action, Callable[[Session, Asked], int]] = {
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
