"""Checks of the daemon: whether a daemon works on the home, is healthy or paused, and how the last daemon ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, read_json, warning
from nightshift.client.connection import NetworkConnection
from nightshift.client.errors import DaemonGone
from nightshift.config.access import Access
from nightshift.core.text.formats import duration

WALL_S = 5.0
LATE_S = 1.0


def check_daemon(context: CheckContext) -> Iterator[Finding]:
    """Check the daemon of this home."""
    pid = context.holder
    if pid is None:
        yield note(
            "daemon",
            "is not running; tasks wait in the queue",
            "make run   (or the service: `systemctl --user start nightshift`)",
        )
        yield from _last_run(context)
        return
    since = read_json(context.settings.lock_file).get("since", "")
    yield ok("daemon", f"process {pid or 'of another container'} holds the lock" + (f" since {since}" if since else ""))
    yield from _answers(context, pid)


def _last_run(context: CheckContext) -> Iterator[Finding]:
    state = read_json(context.settings.state_file)
    if not state:
        yield note(
            "last stop", f"there is no {context.settings.state_file.name}: it never ran, or the file was removed"
        )
    elif state.get("clean"):
        yield ok("last stop", f"clean, saved at {state.get('saved_at', 'an unknown time')}")
    else:
        text = f"the last run was killed, or power failed; its state was saved at {state.get('saved_at', 'no time')}"
        yield note("last stop", text, "nothing is lost: the next start continues where it stopped")


def _answers(context: CheckContext, pid: int) -> Iterator[Finding]:
    access = context.settings.access
    try:
        health, report = _get(access, "/healthz"), _get(access, "/api/status")
    except (DaemonGone, ValueError) as error:
        text = f"Nightshift does not answer on port {access.port}: {error}"
        yield fault(
            "api", text, f"look at {context.settings.log_file}; if it hangs: kill {pid}, it continues where it stopped"
        )
        return
    yield from _health(health)
    yield from _status(report)


def read_status(context: CheckContext) -> dict[str, Any] | None:
    """Return the status that this home's daemon reports; None if no daemon runs or it does not answer."""
    try:
        return _get(context.settings.access, "/api/status") if context.holder is not None else None
    except (DaemonGone, ValueError):
        return None


def _health(health: dict[str, Any]) -> Iterator[Finding]:
    lag = health.get("loop_lag_s") or 0.0
    if health.get("status") != "ok":
        text = "; ".join(health.get("faults") or []) or "it reports that it is failing"
        yield fault("health", text, "stop and start it; if that does not help, look into its log")
    elif lag > LATE_S:
        yield warning(
            "health", f"the workers' loop was {duration(lag)} late", "the machine is overloaded: lower worker_count"
        )
    else:
        yield ok("health", f"answers; the workers' loop is {duration(lag)} late")


def _status(report: dict[str, Any]) -> Iterator[Finding]:
    if "state" not in report:
        yield note("state", f"it does not tell its status: {report.get('error', 'no status')}")
        return
    yield ok("state", f"{report['state']}, version {report.get('version')}; {_counts(report.get('queue') or {})}")
    for hold in report.get("holds") or []:
        text = f"no task is started ({hold['source']}{': ' if hold['reason'] else ''}{hold['reason']})"
        yield note("hold", text, f"it continues {hold['lifted_by']}")
    for text in report.get("notices") or []:
        yield note("notice", text, "see the other sections")


def _counts(queue: dict[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in queue.items() if count) or "no task yet"


def _get(access: Access, path: str) -> dict[str, Any]:
    """Return the JSON object of a response, whatever its status code."""
    answer = json.loads(NetworkConnection(access).send("GET", path, wall_s=WALL_S).content)
    if not isinstance(answer, dict):
        raise ValueError("something else answers there")
    return answer
