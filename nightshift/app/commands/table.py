"""The commands that are the application's own, by name; each is imported when it is asked for."""

# ruff: noqa: PLC0415  # one command needs one module

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nightshift.app.commands.offline import OfflineConnection
from nightshift.client.errors import Exit
from nightshift.client.following import print_outcome, show_progress
from nightshift.client.new_task import task_body, text_or_stdin
from nightshift.client.session import Action, Application, Session, Values
from nightshift.core.clock import utc_now
from nightshift.core.events import Event
from nightshift.core.tasks.states import Status


def _run(session: Session, values: Values) -> int:
    """Work on a task in this very process, while no daemon runs."""
    import asyncio

    from nightshift.app.main import run_one
    from nightshift.core.tasks.submission import parse_spec
    from nightshift.server.schemas import log_line

    def on_event(event: Event) -> None:
        show_progress(session, log_line(event if event.at else replace(event, at=utc_now())))

    body = task_body(text_or_stdin(" ".join(values["text"])), values)
    task = asyncio.run(run_one(parse_spec(body), session.settings, on_event))
    session.disconnect()
    code = print_outcome(session, session.get(f"/api/task/{task.id}"))
    return Exit.INTERRUPTED if task.status is Status.CANCELLED else code


def _run_daemon(_: Session, values: Values) -> int:
    from nightshift.app.main import main

    variables = {"FLASK_PORT": values["port"], "WORKER_COUNT": values["workers"]}
    return main(values["home"], restarts_itself=True, variables=variables)


def _doctor(session: Session, values: Values) -> int:
    from nightshift.app.commands.doctor import doctor

    return doctor(session.out, session.home, deep=values["deep"])


def _load(session: Session, values: Values) -> int:
    from nightshift.app.commands.load import load

    return load(session, values["load"])


def _todo(session: Session, values: Values) -> int:
    from nightshift.app.commands import todo

    if values["install_hook"]:
        return todo.install_hook(session, values["repo"])
    return todo.todo(session, values["repo"], from_hook=values["hook"])


def _prove(session: Session, values: Values) -> int:
    from nightshift.app.commands.evidence import proof

    return proof(session, values["name"], values["repo"] or "", values["out"])


def _verify(session: Session, values: Values) -> int:
    from nightshift.app.commands.evidence import verify

    return verify(session, values["name"], values["repo"] or "")


def _check(session: Session, values: Values) -> int:
    from nightshift.app.commands.repository_settings import check_suite

    return check_suite(session, values["path"])


def _settings(session: Session, values: Values) -> int:
    from nightshift.app.commands.repository_settings import repository_settings

    return repository_settings(session, values["path"], values["changes"])


def _report(session: Session, values: Values) -> int:
    from nightshift.app.commands.upkeep import report

    return report(session, values["week"])


def _notify(session: Session, _: Values) -> int:
    from nightshift.app.commands.upkeep import notify_test

    return notify_test(session)


def _install(session: Session, values: Values) -> int:
    from nightshift.app.commands.service import install

    return install(session, dry_run=values["dry_run"])


def _uninstall(session: Session, values: Values) -> int:
    from nightshift.app.commands.service import uninstall

    return uninstall(session, dry_run=values["dry_run"])


def _serve_mcp(session: Session, _: Values) -> int:
    from nightshift.app.commands.mcp import serve

    return serve(session)


def _bench(name: str) -> Action:
    def act(session: Session, values: Values) -> int:
        from nightshift.app.commands import bench

        return bench.ACTIONS[name](session, values)

    return act


def _memory(name: str) -> Action:
    def act(session: Session, values: Values) -> int:
        from nightshift.app.commands import transfer

        return transfer.ACTIONS[name](session, values["file"])

    return act


def _hub(name: str) -> Action:
    def act(session: Session, values: Values) -> int:
        from nightshift.client import hub

        return _HUB[name](hub, session, values)

    return act


_HUB: Mapping[str, Callable[[Any, Session, Values], int]] = {
    "init": lambda hub, s, _: hub.init(s),
    "status": lambda hub, s, _: hub.status(s),
    "nodes": lambda hub, s, _: hub.nodes(s),
    "drain": lambda hub, s, v: hub.drain(s, v["node"], undo=v["undo"]),
    "remove": lambda hub, s, v: hub.remove(s, v["node"], undo=v["undo"]),
    "verify": lambda hub, s, v: hub.verify(s, v["id"]),
    "tasks": lambda hub, s, v: hub.tasks(s, v["status"], v["limit"]),
    "cancel": lambda hub, s, v: hub.cancel(s, v["id"]),
    "retry": lambda hub, s, v: hub.retry(s, v["id"]),
    "priority": lambda hub, s, v: hub.prioritise(s, v["place"]),
    "pause": lambda hub, s, v: hub.pause(s, " ".join(v["reason"])),
    "resume": lambda hub, s, _: hub.resume(s),
    "asks": lambda hub, s, _: hub.asks(s),
    "answer": lambda hub, s, v: hub.answer(s, v["id"], v["ask"], " ".join(v["words"])),
    "workspace": lambda hub, s, v: hub.workspace(s, v["url"]),
    "budget": lambda hub, s, v: hub.budget(
        s, {name: v[name] for name in ("day_cost_usd", "day_tokens", "total_cost_usd", "total_tokens")}, off=v["off"]
    ),
}

ACTIONS: Mapping[str, Action] = {
    "run": _run,
    "daemon": _run_daemon,
    "doctor": _doctor,
    "load-tasks": _load,
    "todo": _todo,
    "proof": _prove,
    "verify": _verify,
    "check": _check,
    "repo-settings": _settings,
    "report": _report,
    "notify-test": _notify,
    "install-service": _install,
    "uninstall-service": _uninstall,
    "mcp": _serve_mcp,
    **{f"bench {name}": _bench(name) for name in ("mine", "run", "report", "use")},
    **{f"memory {name}": _memory(name) for name in ("export", "import", "export-training")},
    **{f"hub {name}": _hub(name) for name in _HUB},
}
APPLICATION = Application(actions=ACTIONS, offline=OfflineConnection)
