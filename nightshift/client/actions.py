"""Maps each command of the command line to the function that is called with the values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping

from nightshift.client import approvals, brief, changes, commits, daemon, following, tasks
from nightshift.client.errors import Exit
from nightshift.client.new_task import edit_text, task_body, text_or_stdin
from nightshift.client.output import Cell
from nightshift.client.session import Action, Session, Values


def _add(session: Session, values: Values) -> int:
    given = " ".join(values["text"])
    text = text_or_stdin(given) if values["text"] else edit_text()
    return tasks.add(session, task_body(text, values), typed=text != given)


def _run(session: Session, values: Values) -> int:
    if not session.connection.live:
        return session.load_application().actions["run"](session, values)
    return following.run(session, task_body(text_or_stdin(" ".join(values["text"])), values))


def _logs(session: Session, values: Values) -> int:
    query = {"limit": values["n"], "level": values["level"], "task": values["log_task"]}
    return following.logs(session, query, follow=values["follow"])


def _quit(session: Session, _: Values) -> int:
    session.print({"left": False}, Cell("there is no prompt to leave; the daemon keeps running"))
    return Exit.OK


ACTIONS: Mapping[str, Action] = {
    "add": _add,
    "run": _run,
    "logs": _logs,
    "quit": _quit,
    "status": lambda s, v: daemon.status(s, watch=v["watch"]),
    "brief": lambda s, v: brief.brief(s, v["since"], read=v["read"]),
    "history": lambda s, v: tasks.history(s, v["n"]),
    "show": lambda s, v: tasks.show(s, v["name"]),
    "diff": lambda s, v: changes.diff(s, v["name"]),
    "wait": lambda s, v: following.wait(s, v["id"]),
    "cancel": lambda s, v: tasks.move_each(s, v["ids"], "cancel"),
    "retry": lambda s, v: tasks.retry(s, v["ids"], failed=v["failed"], from_draft=v["from_draft"]),
    "prioritise": lambda s, v: tasks.prioritise(s, v["place"]),
    "say": lambda s, v: tasks.say(s, v["id"], text_or_stdin(" ".join(v["text"])), interrupt=not v["after"]),
    "fork": lambda s, v: tasks.fork(s, v["place"], model=v["model"], models=v["models"], note=v["remark"] or ""),
    "pause": lambda s, _: daemon.pause(s),
    "resume": lambda s, _: daemon.resume(s),
    "checkpoint": lambda s, _: daemon.checkpoint(s),
    "approvals": lambda s, _: approvals.approvals(s),
    "forges": lambda s, _: daemon.forges(s),
    "environments": lambda s, _: daemon.environments(s),
    "approve": lambda s, v: approvals.approve(s, v["id"], v["remark"] or ""),
    "deny": lambda s, v: approvals.deny(s, v["id"], v["remark"] or ""),
    "answer": lambda s, v: approvals.answer(s, v["id"], text_or_stdin(" ".join(v["text"]))),
    "review": lambda s, v: commits.review(s, v["what"], read=v["read"], limit=v["limit"]),
    "unread": lambda s, v: commits.unread(s, v["n"]),
    "reviewed": lambda s, v: commits.mark_reviewed(s, v["what"]),
    "integrate": lambda s, v: commits.integrate(s, v["name"], force=v["force"]),
    "discard": lambda s, v: commits.discard(s, v["name"]),
    "revert": lambda s, v: commits.revert(s, v["name"], force=v["force"]),
    "reapply": lambda s, v: commits.revert(s, v["name"], force=v["force"], reapply=True),
    "undo": lambda s, v: commits.undo(s, force=v["force"], yes=v["yes"]),
    "reload": lambda s, _: daemon.reload(s),
    "install-extra": lambda s, v: daemon.install_extra(s, v["name"]),
}
"""The commands that need only the daemon's API. `session.Application` holds the commands that need more."""
