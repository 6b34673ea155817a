"""The functions that the commands of the command line call with the values of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nightshift.client import (
    approvals,
    benchmark,
    benchmark_checks,
    benchmark_report,
    benchmark_use,
    brief,
    changes,
    commits,
    daemon,
    environments,
    following,
    hub,
    service,
    tasks,
    transfer,
)
from nightshift.client import repository_settings as repository
from nightshift.client.clipboard import clipboard_text
from nightshift.client.daemon_client import LogQuery
from nightshift.client.errors import Exit
from nightshift.client.new_task import edit_text, task_body, text_or_stdin
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.core.events import Level
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import Mode

Values = Mapping[str, Any]
"""The values that were given on the command line, by parameter name of `client.commands`."""


def _add(session: Session, values: Values) -> int:
    given = " ".join(values["text"])
    text = text_or_stdin(given) if values["text"] or values["clipboard"] else edit_text()
    text = "\n\n".join(filter(None, (text, clipboard_text()))) if values["clipboard"] else text
    return tasks.add(session, task_body(text, values), typed=text != given)


def _todo(session: Session, values: Values) -> int:
    from nightshift.client import todo  # noqa: PLC0415  # no other action needs it

    if values["install_hook"]:
        return todo.install_hook(session, values["repo"])
    return todo.todo(session, values["repo"], from_hook=values["hook"])


ACTIONS: Mapping[str, Callable[[Session, Values], int]] = {
    "add": _add,
    "run": lambda s, v: following.run(s, task_body(text_or_stdin(" ".join(v["text"])), v)),
    "load-tasks": lambda s, v: tasks.load(s, v["load"]),
    "todo": _todo,
    "brief": lambda s, v: brief.brief(s, v["since"], read=v["read"]),
    "logs": lambda s, v: following.logs(s, _log_query(v), follow=v["follow"]),
    "history": lambda s, v: tasks.history(s, v["n"]),
    "show": lambda s, v: tasks.show(s, v["name"]),
    "diff": lambda s, v: changes.diff(s, v["name"]),
    "wait": lambda s, v: following.wait(s, v["id"]),
    "cancel": lambda s, v: tasks.cancel(s, v["ids"]),
    "retry": lambda s, v: tasks.retry(s, v["ids"], failed=v["failed"], from_draft=v["from_draft"]),
    "prioritise": lambda s, v: tasks.prioritise(s, v["place"]),
    "say": lambda s, v: tasks.say(s, v["id"], text_or_stdin(" ".join(v["text"])), interrupt=not v["after"]),
    "fork": lambda s, v: tasks.fork(s, v["place"], model=v["model"], models=v["models"], note=v["remark"] or ""),
    "pause": lambda s, _: daemon.pause(s),
    "resume": lambda s, _: daemon.resume(s),
    "checkpoint": lambda s, _: daemon.checkpoint(s),
    "approvals": lambda s, _: approvals.approvals(s),
    "forges": lambda s, _: daemon.forges(s),
    "environments": lambda s, _: environments.environments(s),
    "approve": lambda s, v: approvals.approve(s, v["id"], v["remark"] or ""),
    "deny": lambda s, v: approvals.deny(s, v["id"], v["remark"] or ""),
    "answer": lambda s, v: approvals.answer(s, v["id"], text_or_stdin(" ".join(v["text"]))),
    "proof": lambda s, v: commits.proof(s, v["name"], v["repo"] or "", v["out"]),
    "verify": lambda s, v: commits.verify(s, v["name"], v["repo"] or ""),
    "check": lambda s, v: repository.check_suite(s, v["path"]),
    "repo-settings": lambda s, v: repository.repository_settings(s, v["path"], v["changes"]),
    "report": lambda s, v: daemon.report(s, v["week"]),
    "bench run": lambda s, v: benchmark.run(
        s,
        v["repo"],
        Asked(mode=Mode(v["mode"]), items=v["items"], rounds=v["rounds"], budget_usd=v["budget"]),
        models=v["models"],
        file=v["arms"],
        key=v["run"],
    ),
    "bench report": lambda s, v: benchmark_report.report(s, v["repo"], v["mode"]),
    "bench smoke": lambda s, v: benchmark_checks.smoke(
        s, v["repo"], v["model"], items=v["items"], budget_usd=v["budget"]
    ),
    "bench gate": lambda s, v: benchmark_checks.gate(
        s, v["repo"], before=v["before"], mode=v["mode"], margin=v["margin"], budget_usd=v["budget"]
    ),
    "bench use": lambda s, v: benchmark_use.use(s, v["repo"], mode=v["mode"], yes=v["yes"], off=v["off"]),
    "bench mine": lambda s, v: benchmark.mine(s, v["repo"], commits=v["commits"], items=v["items"], model=v["model"]),
    "hub init": lambda s, _: hub.init(s),
    "hub status": lambda s, _: hub.status(s),
    "hub nodes": lambda s, _: hub.nodes(s),
    "hub drain": lambda s, v: hub.drain(s, v["node"], undo=v["undo"]),
    "hub remove": lambda s, v: hub.remove(s, v["node"], undo=v["undo"]),
    "hub verify": lambda s, v: hub.verify(s, v["id"]),
    "hub tasks": lambda s, v: hub.tasks(s, v["status"], v["limit"]),
    "hub cancel": lambda s, v: hub.cancel(s, v["id"]),
    "hub retry": lambda s, v: hub.retry(s, v["id"]),
    "hub priority": lambda s, v: hub.prioritise(s, v["place"]),
    "hub pause": lambda s, v: hub.pause(s, " ".join(v["reason"])),
    "hub resume": lambda s, _: hub.resume(s),
    "hub asks": lambda s, _: hub.asks(s),
    "hub answer": lambda s, v: hub.answer(s, v["id"], v["ask"], " ".join(v["words"])),
    "hub workspace": lambda s, v: hub.workspace(s, v["url"]),
    "hub budget": lambda s, v: hub.budget(
        s, {name: v[name] for name in ("day_cost_usd", "day_tokens", "total_cost_usd", "total_tokens")}, off=v["off"]
    ),
    "memory export": lambda s, v: transfer.export_memory(s, v["file"]),
    "memory import": lambda s, v: transfer.import_memory(s, v["file"]),
    "memory export-training": lambda s, v: transfer.export_training(s, v["file"]),
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
    "mcp": lambda s, _: _mcp(s),
    "notify-test": lambda s, _: daemon.notify_test(s),
    "install-service": lambda s, v: service.install(s, dry_run=v["dry_run"]),
    "uninstall-service": lambda s, v: service.uninstall(s, dry_run=v["dry_run"]),
    "quit": lambda s, _: _quit(s),
}
"""All but those that need no session, such as `daemon` and `doctor`, and `status`, which needs little."""


def _quit(session: Session) -> int:
    session.print({"left": False}, Cell("there is no prompt to leave; the daemon goes on"))
    return Exit.OK


def _mcp(session: Session) -> int:
    from nightshift.client.mcp import serve  # noqa: PLC0415  # no other action needs it

    return serve(session)


def _log_query(values: Values) -> LogQuery:
    level = Level(values["level"]) if values["level"] else None
    return LogQuery(limit=values["n"], level=level, task_id=values["log_task"])
