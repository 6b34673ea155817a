"""Makes the connections to forges from the settings, and the periodic job that synchronises forges with the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from nightshift.app.services import Services
from nightshift.app.store import StoreServices
from nightshift.attempt.evidence import UnreadableNote, read_note
from nightshift.config.load import Settings
from nightshift.core.clock import Clock
from nightshift.core.errors import GitError, HookRefused
from nightshift.core.tasks.commit_message import without_trailers
from nightshift.core.tasks.verdicts import Label
from nightshift.git.manager import GitManager
from nightshift.maintenance.scheduler import PeriodicJob
from nightshift.remote.forges.connections import Connection, connections, open_forge
from nightshift.remote.forges.hooks import is_signed
from nightshift.remote.forges.poller import Poller
from nightshift.remote.forges.sync import Services as SyncServices
from nightshift.remote.forges.texts import Evidence
from nightshift.server.proof.page import WORTH

LOOK_S = 2.0


def connections_of(settings: Settings) -> tuple[Connection, ...]:
    """Return the connections that the settings define.

    Raises:
        ConfigError: the settings have faults; the message lists them.
    """
    return connections(settings.forges, settings.forge_kinds, settings.forge_token)


def evidence_of(git: GitManager, repo: str, commit: str) -> Evidence:
    """Read the evidence about a commit; if the commit has no readable note, the returned evidence is empty."""
    summary = ""
    try:
        summary = without_trailers(git.describe(repo, commit).message)
        text = git.read_note(repo, commit)
        note = read_note(text) if text else None
    except (GitError, UnreadableNote):
        note = None
    if note is None:
        return Evidence(commit=commit, summary=summary)
    evidence, tests = note.evidence, sorted({*note.tests, *note.own_tests})
    rows = {
        "verdict": f"{evidence.label}: {WORTH[Label(evidence.label)]}",
        "tests passed": str(note.passed),
        "given tests": ", ".join(sorted(note.tests)),
        "tests of its own": ", ".join(sorted(note.own_tests)),
        "changed tests": ", ".join(sorted(note.changed_tests)),
        "removed tests": ", ".join(sorted(note.removed_tests)),
        "other suites": ", ".join(sorted(evidence.suites.keys() - set(tests))),
        "command": " ".join(note.command),
        "must-fail copies": str(evidence.twins or ""),
        "held-out cases": str(evidence.held_out or ""),
        "sandbox": evidence.sandbox,
        "model": note.model,
        "iterations": str(note.iterations),
        "left out": ", ".join(sorted(evidence.dropped)),
        "findings left open": str(len(note.remarks) or ""),
    }
    return Evidence(commit=commit, summary=summary, rows=tuple((name, value) for name, value in rows.items() if value))


def open_poller(
    settings: Callable[[], Settings], store: StoreServices, services: Services, stack: ExitStack, clock: Clock
) -> Poller:
    """Open the poller of all connections; `stack` ends the poller's subscription to the events.

    Raises:
        ConfigError: the settings define invalid connections.
    """
    connections_of(settings())
    git, connections_cache = services.git, _Known(settings)
    poller = Poller(
        connections_cache.connections,
        lambda: settings().forge_poll_s,
        lambda connection: open_forge(connection, clock),
        SyncServices(
            queue=store.queue,
            state=store.state,
            push=git.push_branch,
            fetch=git.fetch_branch,
            evidence=partial(evidence_of, git),
            base=services.repository_settings.base_of,
            label=lambda: settings().forge_label,
            emit=store.events.emit,
            mask=store.mask,
            clock=clock,
        ),
    )
    stack.callback(store.events.subscribe(poller.on_events))
    return poller


def forge_hook(settings: Callable[[], Settings], poller: Poller) -> Callable[[Mapping[str, str], bytes], Sequence[str]]:
    """Return the function that accepts a webhook; the function may be called on any thread. See `AppContext`."""

    def take(headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        secret = settings().forge_webhook_secret
        if secret is None:
            raise HookRefused("no webhook is accepted: set forge_webhook_secret, and give the forge the same secret")
        if not is_signed(headers, body, secret.get_secret_value()):
            raise HookRefused("the webhook's signature is missing or wrong; its secret must be forge_webhook_secret")
        return poller.hint()

    return take


class _Known:
    """The connections of the current settings, cached until the settings change."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._read: tuple[Settings, tuple[Connection, ...]] | None = None

    def connections(self) -> tuple[Connection, ...]:
        now = self._settings()
        if self._read is None or self._read[0] is not now:
            self._read = now, connections_of(now)
        return self._read[1]


def forge_job(poller: Poller) -> PeriodicJob:
    """Return the job that runs the poller's due work."""
    return PeriodicJob(name="forges", every_s=LOOK_S, run=poller.turn)
