"""The application's own commands by name; a command's module is imported only when the command is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from nightshift.app.commands.offline import OfflineConnection
from nightshift.client.session import Action, Application, Session, Values


def _lazy(module: str, act: Callable[[Any, Session, Values], int]) -> Action:
    """Return an action that imports the module with this name below `nightshift` and calls `act` with it."""
    return lambda session, values: act(import_module(f"nightshift.{module}"), session, values)


ACTIONS: Mapping[str, Action] = {
    "run": _lazy("app.commands.foreground", lambda m, s, v: m.run(s, v)),
    "daemon": _lazy(
        "app.main",
        lambda m, _, v: m.main(
            v["home"], restarts_itself=True, variables={"FLASK_PORT": v["port"], "WORKER_COUNT": v["workers"]}
        ),
    ),
    "doctor": _lazy("app.commands.doctor", lambda m, s, v: m.doctor(s.out, s.home, deep=v["deep"])),
    "load-tasks": _lazy("app.commands.load", lambda m, s, v: m.load(s, v["load"])),
    "todo": _lazy(
        "app.commands.todo",
        lambda m, s, v: (
            m.install_hook(s, v["repo"]) if v["install_hook"] else m.todo(s, v["repo"], from_hook=v["hook"])
        ),
    ),
    "proof": _lazy("app.commands.evidence", lambda m, s, v: m.proof(s, v["name"], v["repo"] or "", v["out"])),
    "verify": _lazy("app.commands.evidence", lambda m, s, v: m.verify(s, v["name"], v["repo"] or "")),
    "check": _lazy("app.commands.repository_settings", lambda m, s, v: m.check_suite(s, v["path"])),
    "repo-settings": _lazy(
        "app.commands.repository_settings", lambda m, s, v: m.repository_settings(s, v["path"], v["changes"])
    ),
    "report": _lazy("app.commands.upkeep", lambda m, s, v: m.report(s, v["week"])),
    "notify-test": _lazy("app.commands.upkeep", lambda m, s, _: m.notify_test(s)),
    "install-service": _lazy("app.commands.service", lambda m, s, v: m.install(s, dry_run=v["dry_run"])),
    "uninstall-service": _lazy("app.commands.service", lambda m, s, v: m.uninstall(s, dry_run=v["dry_run"])),
    "mcp": _lazy("app.commands.mcp", lambda m, s, _: m.serve(s)),
    "bench mine": _lazy(
        "app.commands.bench",
        lambda m, s, v: m.mine(s, v["repo"], commits=v["commits"], items=v["items"]),
    ),
    "bench run": _lazy("app.commands.bench", lambda m, s, v: m.run(s, v)),
    "bench report": _lazy("app.commands.bench", lambda m, s, v: m.report(s, v["repo"], v["mode"])),
    "memory export": _lazy("app.commands.transfer", lambda m, s, v: m.export_memory(s, v["file"])),
    "memory import": _lazy("app.commands.transfer", lambda m, s, v: m.import_memory(s, v["file"])),
    "hub dev": _lazy("client.hub", lambda m, s, v: m.dev(s, v["port"])),
    "hub init": _lazy("client.hub", lambda m, s, _: m.init(s)),
    "hub status": _lazy("client.hub", lambda m, s, _: m.status(s)),
    "hub nodes": _lazy("client.hub", lambda m, s, _: m.nodes(s)),
    "hub drain": _lazy("client.hub", lambda m, s, v: m.drain(s, v["node"], undo=v["undo"])),
    "hub remove": _lazy("client.hub", lambda m, s, v: m.remove(s, v["node"], undo=v["undo"])),
    "hub verify": _lazy("client.hub", lambda m, s, v: m.verify(s, v["id"])),
    "hub tasks": _lazy("client.hub", lambda m, s, v: m.tasks(s, v["status"], v["limit"])),
    "hub cancel": _lazy("client.hub", lambda m, s, v: m.cancel(s, v["id"])),
    "hub retry": _lazy("client.hub", lambda m, s, v: m.retry(s, v["id"])),
    "hub priority": _lazy("client.hub", lambda m, s, v: m.prioritise(s, v["place"])),
    "hub pause": _lazy("client.hub", lambda m, s, v: m.pause(s, " ".join(v["reason"]))),
    "hub resume": _lazy("client.hub", lambda m, s, _: m.resume(s)),
    "hub asks": _lazy("client.hub", lambda m, s, _: m.asks(s)),
    "hub answer": _lazy("client.hub", lambda m, s, v: m.answer(s, v["id"], v["ask"], " ".join(v["words"]))),
    "hub workspace": _lazy("client.hub", lambda m, s, v: m.workspace(s, v["url"])),
    "hub budget": _lazy(
        "client.hub",
        lambda m, s, v: m.budget(
            s,
            {name: v[name] for name in ("day_cost_usd", "day_tokens", "total_cost_usd", "total_tokens")},
            off=v["off"],
        ),
    ),
}
APPLICATION = Application(actions=ACTIONS, offline=OfflineConnection)
