"""`nightshift hub`: the queue that several machines share, made, looked at and steered, with or without a daemon."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Fields, Lines, Table, Tone, cell, stamp
from nightshift.client.session import Session
from nightshift.client.tasks import id_and_priority
from nightshift.client.views import STATUS_TONE
from nightshift.core.errors import ConfigError
from nightshift.core.program import format_command
from nightshift.core.tasks.reasons import cause_first
from nightshift.core.tasks.states import Status
from nightshift.core.text.formats import duration, money
from nightshift.storage.db.codec import plain

if TYPE_CHECKING:
    from nightshift.remote.hub.connection import HubConnections
    from nightshift.remote.hub.nodes import NodeStatus
    from nightshift.remote.hub.overview import Overview
    from nightshift.remote.hub.queue import HubQueue

NEWEST_FAILURES, VERIFIED = 5, 200
NO_HUB = (
    "hub_url: this machine belongs to no hub; set HUB_URL in the environment, or hub_url in config.yaml, to a "
    "PostgreSQL database, such as postgresql://user:password@host/nightshift"
)


@contextmanager
def open_hub(session: Session, *, checked: bool = True) -> Iterator[HubConnections]:
    """The hub of the session's home.

    Args:
        session: whose settings name it.
        checked: its schema must fit this program.

    Raises:
        ConfigError: they name none.
        ExtraMissing: the packages for it are not installed, and are not to be.
        HubAway: it cannot be reached.
        HubRefused: it has another version's schema, or none.
    """
    url = session.settings.hub_url
    if url is None:
        raise ConfigError([NO_HUB])
    from nightshift.app.extras import make_extras  # noqa: PLC0415  # a hub alone needs it

    make_extras(session.settings, lambda event: print(event.message, file=sys.stderr)).ensure("hub")
    from nightshift.remote.hub.connection import HubConnections  # noqa: PLC0415  # as above
    from nightshift.remote.hub.migrations import check  # noqa: PLC0415  # as above

    connections = HubConnections(url.get_secret_value(), most=1)
    try:
        if checked:
            check(connections)
        yield connections
    finally:
        connections.close()


@contextmanager
def queue_of(session: Session) -> Iterator[HubQueue]:
    """The hub's queue; raises as `open_hub`."""
    with open_hub(session) as connections:
        from nightshift.remote.hub.overview import asking  # noqa: PLC0415  # as above

        yield asking(connections)


def init(session: Session) -> int:
    """Bring the schema up to date as its owner, and say how nodes get in."""
    from nightshift.remote.hub.migrations import ROLE, has_role, has_vectors, migrate, steps  # noqa: PLC0415  # as above

    with open_hub(session, checked=False) as connections:
        applied, granted, searches = migrate(connections), has_role(connections), has_vectors(connections)
    version = max(steps())
    done = f"brought from version {min(applied) - 1} to {version}" if applied else f"up to date (version {version})"
    role = (
        [
            "Nodes only call its functions. A role for them, as the database's owner:",
            "  CREATE ROLE my_nodes LOGIN PASSWORD '…';",
            f"  GRANT {ROLE} TO my_nodes;",
            f"Then set HUB_URL=postgresql://my_nodes:…@{_place(session)} on each node.",
        ]
        if granted
        else [
            f"The role {ROLE} is missing, and this user may make none. Have one who may do",
            f"  CREATE ROLE {ROLE} NOLOGIN;",
            f"then `{format_command('hub init')}` again.",
        ]
    )
    lacking = (
        "Without pgvector, a new node finds lessons by words until it has read all of them. A superuser adds it by "
        f"CREATE EXTENSION vector; then `{format_command('hub init')}` again."
    )
    vectors = [] if searches else [lacking]
    answer = {"applied": applied, "version": version, "role": ROLE if granted else None, "pgvector": searches}
    session.print(answer, [Lines(lines=[Cell(f"the hub's schema was {done}" if applied else f"the hub is {done}")]),
                           Lines(lines=[Cell(line) for line in [*role, *vectors]])])  # fmt: skip
    return Exit.OK


def status(session: Session) -> int:
    """The hub as a whole.

    Returns:
        `Exit.FAILED` where no node is up, `Exit.WAITS` where it is paused, a node was lost, or a task waits for its
        owner.
    """
    from nightshift.remote.hub.overview import asking, overview  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        found = overview(connections)
        failed = asking(connections).find(Status.FAILED, NEWEST_FAILURES)
    counts = {str(name): count for name, count in found.counts.items() if count}
    lost = ", ".join(one.name for one in found.lost)
    up = f"{len(found.up)} of {len(found.belonging)} up"
    pairs = [
        ("hub", cell(_place(session))),
        ("nodes", cell(f"{up}; lost: {lost}" if lost else up, Tone.PLAIN if found.up and not lost else Tone.WARN)),
        ("slots", cell(f"{sum(one.busy for one in found.up)} of {sum(one.slots for one in found.up)} busy")),
        ("tasks", cell(", ".join(f"{count} {name}" for name, count in counts.items()) or "none")),
        *([] if found.paused is None else [("paused", cell(found.paused or "by its owner", Tone.WARN))]),
    ]
    blocks: list[Block] = [Fields(pairs=pairs)]
    if failed:
        rows = [[cell(one.id), cell(one.node_name), cell(one.ending, Tone.BAD),
                 cell(cause_first(one.reason) or one.title)] for one in failed]  # fmt: skip
        blocks.append(Table(head=("failed", "node", "ending", "why"), rows=rows, spare=("node",)))
    answer = {"hub": _place(session), "paused": found.paused, "counts": counts,
              "nodes": [plain(one) for one in found.nodes], "failures": [plain(one) for one in failed]}  # fmt: skip
    session.print(answer, blocks)
    return _health(found)


def _health(found: Overview) -> Exit:
    if not found.up:
        return Exit.FAILED
    waits = found.paused is not None or found.lost or found.counts.get(Status.WAITING)
    return Exit.WAITS if waits else Exit.OK


def nodes(session: Session) -> int:
    """All nodes, with what they are and what they do."""
    from nightshift.remote.hub.nodes import nodes as all_nodes  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        found = all_nodes(connections)
    named = Counter(one.name for one in found)
    rows = [
        [cell(one.name if named[one.name] == 1 else f"{one.name} ({one.id})"),
         _standing(one), cell(f"{one.busy}/{one.slots}"), cell(duration(one.unseen_s)),
         cell("yes" if one.draining else None), cell(one.version), cell(", ".join(one.labels)), cell(one.url)]
        for one in found
    ]  # fmt: skip
    head = ("node", "state", "busy", "seen ago", "drains", "version", "labels", "address")
    lines = [Cell("no node has joined yet; one does when a daemon starts with HUB_URL")]
    session.print(
        {"nodes": [plain(one) for one in found]},
        [Table(head=head, rows=rows, spare=("labels", "version", "seen ago"))] if rows else [Lines(lines=lines)],
    )
    return Exit.OK


def drain(session: Session, name: str, *, undo: bool) -> int:
    """Let a node take nothing new, or take tasks again."""
    from nightshift.remote.hub.nodes import drain as drained  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        one = drained(connections, name, draining=not undo)
    has = f"; it finishes {one.held} task{'' if one.held == 1 else 's'}" if one.held else ""
    said = f"{one.name} takes tasks again" if undo else f"{one.name} takes nothing new{has}"
    session.print({"node": one.id, "name": one.name, "draining": not undo}, Cell(said))
    return Exit.OK


def remove(session: Session, name: str, *, undo: bool) -> int:
    """Let a node never come back, or come again."""
    from nightshift.remote.hub import nodes as hub_nodes  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        if undo:
            one = hub_nodes.let_back(connections, name)
            session.print({"node": one.id, "name": one.name, "removed": False}, Cell(f"{one.name} may come again"))
            return Exit.OK
        gone = hub_nodes.remove(connections, name)
    moved = f"; others get the {'task' if gone.moved == 1 else f'{gone.moved} tasks'} that it had" if gone.moved else ""
    login = f"its user {gone.node.login}"
    if gone.is_shut_out:
        said = f"{login} is shut out of the hub"
    elif gone.sharing:
        said = f"{login} stays, which {', '.join(gone.sharing)} uses too: a user for each node can be shut out"
    else:
        said = f"{login} stays: take its rights or its password away where it must not reach the database"
    answer = {"node": gone.node.id, "name": gone.node.name, "removed": True, "moved": gone.moved,
              "login": gone.node.login, "shut_out": gone.is_shut_out, "sharing": gone.sharing}  # fmt: skip
    session.print(answer, [Lines(lines=[Cell(f"{gone.node.name} was removed{moved}"), Cell(said)])])
    return Exit.OK


def tasks(session: Session, status: str | None, limit: int) -> int:
    """The newest tasks of all nodes."""
    with queue_of(session) as queue:
        found = queue.find(Status(status) if status else None, limit)
    rows = [
        [cell(one.id), cell(one.status, STATUS_TONE.get(one.status, Tone.PLAIN)), cell(one.priority),
         cell(one.node_name), stamp(one.created_at, short=session.views.short), cell(one.title)]
        for one in found
    ]  # fmt: skip
    head = ("id", "status", "priority", "node", "created", "task")
    session.print(
        {"tasks": [plain(one) for one in found]},
        [Table(head=head, rows=rows, spare=("created", "priority"))] if rows else [Lines(lines=[Cell("no tasks")])],
    )
    return Exit.OK


def verify(session: Session, task_id: int | None) -> int:
    """By whom results are signed.

    Returns:
        `Exit.FAILED` where one is not signed by the node that had the task.
    """
    from nightshift.remote.hub.nodes import keys as all_keys  # noqa: PLC0415  # as above
    from nightshift.remote.hub.overview import asking  # noqa: PLC0415  # as above
    from nightshift.remote.hub.signing import Signed, result_is_signed  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        queue, keys = asking(connections), all_keys(connections)
        some = queue.find(limit=VERIFIED) if task_id is None else [queue.get(task_id)]
        found = [(one, signed) for one in some if (signed := result_is_signed(one, keys))]
    tones = {Signed.VALID: Tone.GOOD, Signed.NOT_VALID: Tone.BAD, Signed.UNKNOWN: Tone.DIM}
    rows = [
        [cell(one.id), cell(one.status, STATUS_TONE.get(one.status, Tone.PLAIN)), cell(one.node_name),
         cell(signed, tones[signed]), cell(one.commit)]
        for one, signed in found
    ]  # fmt: skip
    answer = {"results": [{"task": one.id, "status": one.status, "node": one.node, "node_name": one.node_name,
                           "commit": one.commit, "signed": signed} for one, signed in found]}  # fmt: skip
    nothing: Block = Lines(lines=[Cell("no task has ended" if task_id is None else f"task {task_id} has not ended")])
    head = ("id", "status", "node", "signature", "commit")
    session.print(answer, [Table(head=head, rows=rows, spare=("commit",))] if rows else [nothing])
    return Exit.FAILED if any(signed is Signed.NOT_VALID for _, signed in found) else Exit.OK


def cancel(session: Session, task_id: int) -> int:
    """Cancel a task, wherever it is."""
    with queue_of(session) as queue:
        now = queue.cancel(task_id)
    asked = now is not Status.CANCELLED
    return _print_move(session, task_id, now, "its node is asked to cancel it" if asked else "cancelled")


def retry(session: Session, task_id: int) -> int:
    """Queue a task again that failed or was cancelled."""
    with queue_of(session) as queue:
        now = queue.retry(task_id)
    return _print_move(session, task_id, now, str(now))


def prioritise(session: Session, words: Sequence[str]) -> int:
    """Let a task be claimed sooner or later, given as `ID N`.

    Raises:
        click.UsageError: it was not given so.
    """
    task_id, priority = id_and_priority(words, "hub priority")
    with queue_of(session) as queue:
        now = queue.prioritise(task_id, priority)
    return _print_move(session, task_id, now, f"{now}, priority {priority}")


def pause(session: Session, reason: str) -> int:
    """Let no node claim anything."""
    with queue_of(session) as queue:
        queue.pause(reason)
    session.print({"paused": reason}, Cell("paused: no node takes a task until you resume; what runs goes on"))
    return Exit.OK


def resume(session: Session) -> int:
    """Let nodes claim again."""
    with queue_of(session) as queue:
        queue.resume()
    session.print({"paused": None}, Cell("nodes take tasks again"))
    return Exit.OK


def asks(session: Session) -> int:
    """Print the questions of tasks, with the numbers that `answer` takes."""
    with queue_of(session) as queue:
        found = queue.find(Status.WAITING, 200)
    open_ones = [(one, ask) for one in found for ask in json.loads(one.asks or "[]")]
    rows = [[cell(one.id), cell(ask["id"]), cell(one.node_name), cell(ask["question"])] for one, ask in open_ones]
    answer = {"asks": [{"task": one.id, "node": one.node_name, **ask} for one, ask in open_ones]}
    nothing: Block = Lines(lines=[Cell("no task asks anything")])
    session.print(answer, [Table(head=("task", "ask", "node", "question"), rows=rows)] if rows else [nothing])
    return Exit.OK


def answer(session: Session, task_id: int, ask_id: int, words: str) -> int:
    """Answer an ask: `yes`, `no`, or the text that a question wants."""
    said = words.strip()
    is_text = said.lower() not in {"yes", "no"}
    with queue_of(session) as queue:
        now = queue.answer(task_id, ask_id, granted=said.lower() != "no", text=said if is_text else "")
    return _print_move(session, task_id, now, "its node has the answer")


def workspace(session: Session, url: str | None) -> int:
    """Show or set the remote of all workspaces."""
    from nightshift.remote.hub import migrations  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        if url is not None:
            migrations.set_option(connections, migrations.WORKSPACE, url)
        found = migrations.option(connections, migrations.WORKSPACE)
    session.print({"workspace": found}, Cell(f"the workspaces of all nodes follow {found}" if found else
                  "no remote is set: tasks without a repository stay on the node that they were given to"))  # fmt: skip
    return Exit.OK


def budget(session: Session, wanted: Mapping[str, float | None], *, off: bool) -> int:
    """Show or set what all nodes may spend together; what is not given stays as it is."""
    from nightshift.remote.hub import migrations  # noqa: PLC0415  # as above
    from nightshift.remote.hub.budget import spending  # noqa: PLC0415  # as above

    with open_hub(session) as connections:
        for name, value in wanted.items():
            if off:
                migrations.unset_option(connections, name)
            elif value is not None:
                migrations.set_option(connections, name, f"{value:g}")
        limits = {name: migrations.option(connections, name) for name in wanted}
        spent = spending(connections)
    names = {"day_cost_usd": "a day", "total_cost_usd": "in all", "day_tokens": "a day", "total_tokens": "in all"}
    texts = [
        f"{money(float(limit)) if name.endswith('usd') else f'{int(float(limit)):,} tokens'} {names[name]}"
        for name, limit in limits.items()
        if limit is not None
    ]
    used = [f"{span}: {money(cost_usd)}" for span, cost_usd in spent.items()]
    lines = [Cell(f"all nodes together: {', '.join(texts) or 'no budget'}"), *(Cell(f"spent {one}") for one in used)]
    session.print({"budget": limits, "spent_usd": spent}, [Lines(lines=lines)])
    return Exit.OK


def _print_move(session: Session, task_id: int, now: Status, said: str) -> int:
    session.print({"task": task_id, "status": str(now)}, Cell(f"task {task_id} of the hub: {said}"))
    return Exit.OK


def _place(session: Session) -> str:
    """Return the address of the hub without the login."""
    url = session.settings.hub_url
    parts = urlsplit(url.get_secret_value() if url else "")
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def _standing(one: NodeStatus) -> Cell:
    if one.removed_at is not None:
        return cell("removed", Tone.DIM)
    if one.is_up:
        return cell(one.state or "up", Tone.GOOD)
    return cell("gone" if one.draining else "lost", Tone.DIM if one.draining else Tone.BAD)
