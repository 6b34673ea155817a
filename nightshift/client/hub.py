"""Implements `nightshift hub`, which shows and controls the tasks that several machines share.

The commands work with or without a running daemon.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nightshift.app.extras import make_extras
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Fields, Lines, Table, Tone, cell, stamp
from nightshift.client.session import Session
from nightshift.client.tasks import id_and_priority
from nightshift.client.views import STATUS_TONE
from nightshift.core.errors import ConfigError
from nightshift.core.hub import Signed
from nightshift.core.program import format_command
from nightshift.core.tasks.states import Status, cause_first
from nightshift.core.text.formats import duration, money
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.budget import spending
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.shared_schema import ROLE
from nightshift.storage.db.codec import to_json_value

if TYPE_CHECKING:
    from nightshift.core.hub import NodeStatus, Overview
    from nightshift.remote.hub.connection import HubConnection
    from nightshift.remote.hub.queue import HubQueue

NEWEST_FAILURES, VERIFIED = 5, 200
NO_HUB = (
    "hub_url: this machine belongs to no hub; set HUB_URL in the environment, or hub_url in config.yaml, to a Temporal "
    "server, such as temporal://host:7233/default"
)
NO_DATABASE = (
    "hub_database_url: the nodes share no budget; set HUB_DATABASE_URL to a PostgreSQL database, such as "
    "postgresql://user:password@host/nightshift"
)


@contextmanager
def open_hub(session: Session, *, acts: bool = False) -> Iterator[HubConnection]:
    """Connect to the hub of the session's home, and close the connection at the end.

    Args:
        session: the session, whose settings name the hub.
        acts: True if the caller will change workflows. A change needs a running worker of the hub. Because it is
            possible that no node is up, this process serves as a worker until the connection is closed.

    Raises:
        ConfigError: the settings name no hub.
        ExtraMissing: the needed packages are missing, and the settings do not allow installing them.
        HubAway: the hub cannot be reached.
        HubRefused: the hub refuses the connection, or is not ready for this version.
    """
    connection = _open_connection(session)
    try:
        from nightshift.remote.hub.control import check  # noqa: PLC0415  # as above

        check(connection)
        if not acts:
            yield connection
            return
        from nightshift.remote.hub.worker import workflows_served  # noqa: PLC0415  # as above

        with workflows_served(connection):
            yield connection
    finally:
        connection.close()


def _open_connection(session: Session) -> HubConnection:
    """Install the packages for the hub, and return a connection to the hub that the settings name.

    Raises as `open_hub` does.
    """
    url = session.settings.hub_url
    if url is None:
        raise ConfigError([NO_HUB])
    _ensure_extra(session)
    from nightshift.remote.hub.connection import HubConnection  # noqa: PLC0415  # a hub alone needs it

    return HubConnection(url)


def _ensure_extra(session: Session) -> None:
    make_extras(session.settings, lambda event: print(event.message, file=sys.stderr)).ensure("hub")


@contextmanager
def open_database(session: Session) -> Iterator[SharedDatabase]:
    """Open the database that the nodes share, and close it at the end.

    Raises:
        ConfigError: the settings name no shared database.
        ExtraMissing: the needed packages are missing, and the settings do not allow installing them.
    """
    url = session.settings.hub_database_url
    if url is None:
        raise ConfigError([NO_DATABASE])
    _ensure_extra(session)
    database = SharedDatabase(url.get_secret_value(), most=1)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def queue_of(session: Session, *, acts: bool = False) -> Iterator[HubQueue]:
    """Connect to the hub as `open_hub` does, and yield the queue of its tasks."""
    with open_hub(session, acts=acts) as connection:
        from nightshift.remote.hub.queue import HubQueue  # noqa: PLC0415  # as above

        yield HubQueue(connection)


def dev(session: Session, port: int) -> int:
    """Run the packaged Temporal server until it is interrupted."""
    from nightshift.remote.hub.dev_server import command  # noqa: PLC0415  # as above

    session.settings.hub_dir.mkdir(parents=True, exist_ok=True)
    words = command(port, session.settings.hub_dir / "temporal.db")
    lines = [f"HUB_URL=temporal://127.0.0.1:{port}/default", f"its page: http://127.0.0.1:{port + 1000}"]
    session.print(
        {"hub_url": lines[0].partition("=")[2], "command": words}, [Lines(lines=[Cell(line) for line in lines])]
    )
    sys.stdout.flush()
    with subprocess.Popen(words) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            return Exit.OK


def init(session: Session) -> int:
    """Prepare the hub's namespace and, if the settings name a shared database, that database."""
    connection = _open_connection(session)
    try:
        from nightshift.remote.hub.control import prepare  # noqa: PLC0415  # as above

        is_new = prepare(connection)
    finally:
        connection.close()
    lines = [f"the namespace at {_hub_address(session)} {'was made' if is_new else 'is'} ready"]
    answer: dict[str, object] = {"prepared": is_new}
    if session.settings.hub_database_url:
        lines += _init_database(session, answer)
    session.print(answer, [Lines(lines=[Cell(line) for line in lines])])
    return Exit.OK


def _init_database(session: Session, answer: dict[str, object]) -> list[str]:
    with open_database(session) as database:
        is_new, granted = shared_schema.make(database), shared_schema.has_role(database)
        searches = shared_schema.has_vectors(database)
    answer |= {"database_made": is_new, "role": ROLE if granted else None, "pgvector": searches}
    lines = [f"the shared database {'was made' if is_new else 'is'} ready"]
    if granted:
        lines += [
            "Nodes only call its functions. A role for them, as the database's owner:",
            "  CREATE ROLE my_nodes LOGIN PASSWORD '…';",
            f"  GRANT {ROLE} TO my_nodes;",
            "Then set HUB_DATABASE_URL to that user on each node.",
        ]
    else:
        lines += [
            f"The role {ROLE} is missing, and this user may not create it. Have a user who may do",
            f"  CREATE ROLE {ROLE} NOLOGIN;",
            f"then `{format_command('hub init')}` again.",
        ]
    if not searches:
        lines.append(
            "Without pgvector, a new node finds lessons by words until it has read all of them. To add it, "
            f"run CREATE EXTENSION vector as a superuser, then `{format_command('hub init')}` again."
        )
    return lines


def status(session: Session) -> int:
    """Print the status of the hub.

    Returns:
        `Exit.FAILED` if no node is up; `Exit.WAITS` if the hub is paused, a node was lost, or a task waits for its
        owner; otherwise `Exit.OK`.
    """
    with open_hub(session) as connection:
        from nightshift.remote.hub.nodes import overview  # noqa: PLC0415  # as above
        from nightshift.remote.hub.queue import HubQueue  # noqa: PLC0415  # as above

        hub_state = overview(connection)
        failed = HubQueue(connection).find(Status.FAILED, NEWEST_FAILURES)
    counts = {str(name): count for name, count in hub_state.counts.items() if count}
    lost = ", ".join(node.name for node in hub_state.lost)
    up = f"{len(hub_state.up)} of {len(hub_state.belonging)} up"
    versions = f"nodes run different versions: {', '.join(hub_state.versions)}; update the older ones"
    pairs = [
        ("hub", cell(_hub_address(session))),
        ("nodes", cell(f"{up}; lost: {lost}" if lost else up, Tone.PLAIN if hub_state.up and not lost else Tone.WARN)),
        (
            "slots",
            cell(f"{sum(node.busy for node in hub_state.up)} of {sum(node.slots for node in hub_state.up)} busy"),
        ),
        ("tasks", cell(", ".join(f"{count} {name}" for name, count in counts.items()) or "none")),
        *([] if hub_state.paused is None else [("paused", cell(hub_state.paused or "by its owner", Tone.WARN))]),
        *([("versions", cell(versions, Tone.WARN))] if len(hub_state.versions) > 1 else []),
    ]
    blocks: list[Block] = [Fields(pairs=pairs)]
    if failed:
        rows = [[cell(task.id), cell(task.node_name), cell(task.ending, Tone.BAD),
                 cell(cause_first(task.reason) or task.title)] for task in failed]  # fmt: skip
        blocks.append(Table(head=("failed", "node", "ending", "why"), rows=rows, spare=("node",)))
    answer = {"hub": _hub_address(session), "paused": hub_state.paused, "counts": counts,
              "nodes": [to_json_value(node) for node in hub_state.nodes],
              "failures": [to_json_value(task) for task in failed]}  # fmt: skip
    session.print(answer, blocks)
    return _health(hub_state)


def _health(overview: Overview) -> Exit:
    if not overview.up:
        return Exit.FAILED
    waits = overview.paused is not None or overview.lost or overview.counts.get(Status.WAITING)
    return Exit.WAITS if waits else Exit.OK


def nodes(session: Session) -> int:
    """List all nodes with their properties and states."""
    with open_hub(session) as connection:
        from nightshift.remote.hub.nodes import nodes as all_nodes  # noqa: PLC0415  # as above

        statuses = all_nodes(connection)
    named = Counter(node.name for node in statuses)
    rows = [
        [cell(node.name if named[node.name] == 1 else f"{node.name} ({node.id})"),
         _standing(node), cell(f"{node.busy}/{node.slots}"), cell(duration(node.unseen_s)),
         cell("yes" if node.draining else None), cell(node.version), cell(", ".join(node.labels)), cell(node.url)]
        for node in statuses
    ]  # fmt: skip
    head = ("node", "state", "busy", "seen ago", "drains", "version", "labels", "address")
    lines = [Cell("no node has joined yet; a daemon with HUB_URL joins when it starts")]
    session.print(
        {"nodes": [to_json_value(node) for node in statuses]},
        [Table(head=head, rows=rows, spare=("labels", "version", "seen ago"))] if rows else [Lines(lines=lines)],
    )
    return Exit.OK


def drain(session: Session, name: str, *, undo: bool) -> int:
    """Stop a node from accepting new tasks or, with `undo`, let it accept tasks again."""
    with open_hub(session, acts=True) as connection:
        from nightshift.remote.hub.nodes import drain as drained  # noqa: PLC0415  # as above

        node = drained(connection, name, draining=not undo)
    has = f"; it finishes {node.held} task{'' if node.held == 1 else 's'}" if node.held else ""
    text = f"{node.name} takes tasks again" if undo else f"{node.name} takes no new tasks{has}"
    session.print({"node": node.id, "name": node.name, "draining": not undo}, Cell(text))
    return Exit.OK


def remove(session: Session, name: str, *, undo: bool) -> int:
    """Remove a node permanently or, with `undo`, admit it again."""
    with open_hub(session, acts=True) as connection:
        from nightshift.remote.hub import nodes as hub_nodes  # noqa: PLC0415  # as above

        if undo:
            node = hub_nodes.let_back(connection, name)
            session.print({"node": node.id, "name": node.name, "removed": False}, Cell(f"{node.name} may come back"))
            return Exit.OK
        gone, moved = hub_nodes.remove(connection, name)
    text = f"; others get the {'task' if moved == 1 else f'{moved} tasks'} that it had" if moved else ""
    key = "if it must no longer reach them, revoke its key to the server and its user in the shared database"
    answer = {"node": gone.id, "name": gone.name, "removed": True, "moved": moved}
    session.print(answer, [Lines(lines=[Cell(f"{gone.name} was removed{text}"), Cell(key)])])
    return Exit.OK


def tasks(session: Session, status: str | None, limit: int) -> int:
    """List the newest tasks of all nodes."""
    with queue_of(session) as queue:
        newest_tasks = queue.find(Status(status) if status else None, limit)
    rows = [
        [cell(task.id), cell(task.status, STATUS_TONE.get(task.status, Tone.PLAIN)), cell(task.priority),
         cell(task.node_name), stamp(task.created_at, short=session.views.short), cell(task.title)]
        for task in newest_tasks
    ]  # fmt: skip
    head = ("id", "status", "priority", "node", "created", "task")
    session.print(
        {"tasks": [to_json_value(task) for task in newest_tasks]},
        [Table(head=head, rows=rows, spare=("created", "priority"))] if rows else [Lines(lines=[Cell("no tasks")])],
    )
    return Exit.OK


def verify(session: Session, task_id: int | None) -> int:
    """Print for each result whether it is signed by the node that had the task.

    Returns:
        `Exit.FAILED` if a signature is not valid, otherwise `Exit.OK`.
    """
    with open_hub(session) as connection:
        from nightshift.remote.hub.nodes import keys as all_keys  # noqa: PLC0415  # as above
        from nightshift.remote.hub.queue import HubQueue  # noqa: PLC0415  # as above
        from nightshift.remote.hub.signing import result_is_signed  # noqa: PLC0415  # as above

        queue, keys = HubQueue(connection), all_keys(connection)
        some = queue.find(limit=VERIFIED) if task_id is None else [queue.get(task_id)]
        signatures = [(task, signed) for task in some if (signed := result_is_signed(task, keys))]
    tones = {Signed.VALID: Tone.GOOD, Signed.NOT_VALID: Tone.BAD, Signed.UNKNOWN: Tone.DIM}
    rows = [
        [cell(task.id), cell(task.status, STATUS_TONE.get(task.status, Tone.PLAIN)), cell(task.node_name),
         cell(signed, tones[signed]), cell(task.commit)]
        for task, signed in signatures
    ]  # fmt: skip
    answer = {"results": [{"task": task.id, "status": task.status, "node": task.node, "node_name": task.node_name,
                           "commit": task.commit, "signed": signed} for task, signed in signatures]}  # fmt: skip
    nothing: Block = Lines(lines=[Cell("no task has ended" if task_id is None else f"task {task_id} has not ended")])
    head = ("id", "status", "node", "signature", "commit")
    session.print(answer, [Table(head=head, rows=rows, spare=("commit",))] if rows else [nothing])
    return Exit.FAILED if any(signed is Signed.NOT_VALID for _, signed in signatures) else Exit.OK


def cancel(session: Session, task_id: int) -> int:
    """Cancel a task, whichever node has it."""
    with queue_of(session, acts=True) as queue:
        now = queue.cancel(task_id)
    asked = now is not Status.CANCELLED
    return _print_move(session, task_id, now, "its node is asked to cancel it" if asked else "cancelled")


def retry(session: Session, task_id: int) -> int:
    """Queue a failed or cancelled task again."""
    with queue_of(session, acts=True) as queue:
        now = queue.retry(task_id)
    return _print_move(session, task_id, now, str(now))


def prioritise(session: Session, words: Sequence[str]) -> int:
    """Change the priority of a task, given as `ID N`, so that it is claimed sooner or later.

    Raises:
        click.UsageError: the arguments have another form.
    """
    task_id, priority = id_and_priority(words, "hub priority")
    with queue_of(session, acts=True) as queue:
        now = queue.prioritise(task_id, priority)
    return _print_move(session, task_id, now, f"{now}, priority {priority}")


def pause(session: Session, reason: str) -> int:
    """Stop all nodes from claiming tasks."""
    _set_pause(session, reason)
    session.print({"paused": reason}, Cell("paused: no node takes a task until you resume; running tasks continue"))
    return Exit.OK


def resume(session: Session) -> int:
    """Let nodes claim tasks again."""
    _set_pause(session, None)
    session.print({"paused": None}, Cell("nodes take tasks again"))
    return Exit.OK


def _set_pause(session: Session, reason: str | None) -> None:
    with open_hub(session, acts=True) as connection:
        from nightshift.remote.hub import control  # noqa: PLC0415  # as above

        control.pause(connection, reason)


def asks(session: Session) -> int:
    """Print the open questions and requests of all tasks, with the numbers that `answer` needs."""
    with queue_of(session) as queue:
        waiting_tasks = queue.find(Status.WAITING, 200)
    open_ones = [(task, ask) for task in waiting_tasks for ask in json.loads(task.asks or "[]")]
    rows = [[cell(task.id), cell(ask["id"]), cell(task.node_name), cell(ask["question"])] for task, ask in open_ones]
    answer = {"asks": [{"task": task.id, "node": task.node_name, **ask} for task, ask in open_ones]}
    nothing: Block = Lines(lines=[Cell("no task has a question")])
    session.print(answer, [Table(head=("task", "ask", "node", "question"), rows=rows)] if rows else [nothing])
    return Exit.OK


def answer(session: Session, task_id: int, ask_id: int, words: str) -> int:
    """Answer a question or request of a task with `yes`, `no`, or a text."""
    text = words.strip()
    is_text = text.lower() not in {"yes", "no"}
    with queue_of(session, acts=True) as queue:
        now = queue.answer(task_id, ask_id, granted=text.lower() != "no", text=text if is_text else "")
    return _print_move(session, task_id, now, "its node has the answer")


def workspace(session: Session, url: str | None) -> int:
    """Show the remote that the workspaces of all nodes follow or, given an address, set it."""
    with open_hub(session, acts=url is not None) as connection:
        from nightshift.remote.hub import control  # noqa: PLC0415  # as above

        if url is not None:
            control.follow(connection, url)
        remote = control.read_settings(connection).workspace
    session.print({"workspace": remote or None}, Cell(f"the workspaces of all nodes follow {remote}" if remote else
                  "no remote is set: tasks without a repository stay on the node that they were given to"))  # fmt: skip
    return Exit.OK


def budget(session: Session, wanted: Mapping[str, float | None], *, off: bool) -> int:
    """Show the common budget of all nodes, or set it. Limits that are not given stay as they are."""
    with open_database(session) as database:
        for name, value in wanted.items():
            if off or value is not None:
                shared_schema.set_option(database, name, None if off else f"{value:g}")
        limits = {name: shared_schema.option(database, name) for name in wanted}
        spent = spending(database)
    names = {"day_cost_usd": "a day", "total_cost_usd": "in all", "day_tokens": "a day", "total_tokens": "in all"}
    texts = [
        f"{money(float(limit)) if name.endswith('usd') else f'{int(float(limit)):,} tokens'} {names[name]}"
        for name, limit in limits.items()
        if limit is not None
    ]
    used = [f"{span}: {money(cost_usd)}" for span, cost_usd in spent.items()]
    lines = [
        Cell(f"all nodes together: {', '.join(texts) or 'no budget'}"),
        *(Cell(f"spent {amount}") for amount in used),
    ]
    session.print({"budget": limits, "spent_usd": spent}, [Lines(lines=lines)])
    return Exit.OK


def _print_move(session: Session, task_id: int, now: Status, text: str) -> int:
    session.print({"task": task_id, "status": str(now)}, Cell(f"task {task_id} of the hub: {text}"))
    return Exit.OK


def _hub_address(session: Session) -> str:
    """Return the hub's address without its scheme; empty if the settings name no hub."""
    return (session.settings.hub_url or "").removeprefix("temporal://")


def _standing(node: NodeStatus) -> Cell:
    if node.is_removed:
        return cell("removed", Tone.DIM)
    if node.is_up:
        return cell(node.state or "up", Tone.GOOD)
    return cell("gone" if node.draining else "lost", Tone.DIM if node.draining else Tone.BAD)
