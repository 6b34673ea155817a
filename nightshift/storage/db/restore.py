"""Puts a sound database in the place of a damaged one and records what was lost, where owner and tasks find it.

In order: the new one is built beside it from the newest backup that is sound, or from nothing, with all that can be
salvaged; the damaged files are linked into a folder of their own, where only people delete them; a note says that the
new one is complete; the new one takes the name. Whenever the power goes, the next start finds either the damaged
database as it was, or the note, and finishes. The old log must be gone before the new file is in place: SQLite would
apply it.

A task that could not be carried over stands as the backup had it. Where the log of moves, carried over by itself, says
that it has ended since, it has ended: that entry was written in one transaction with the row that was lost. Whatever
else the log says is not believed of a row that nobody can read; the task goes on from the backup's state, and what it
did since is found again by its commit.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import to_text, utc_now
from nightshift.core.errors import StoreError, StoreFull
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.text.formats import coarse
from nightshift.storage.db import backups, migrations, row_validation
from nightshift.storage.db.codec import encode
from nightshift.storage.db.integrity import Examined, beside
from nightshift.storage.db.log_end import LogEnd
from nightshift.storage.db.raw_file import Pages
from nightshift.storage.db.salvage import Carried, Salvage, roots
from nightshift.storage.db.sqlite import Connection, Error, connect_draft, faults, store_error
from nightshift.storage.db.state_store import read_state, write_state
from nightshift.storage.files.whole import flush, publish, write_whole

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A database that cannot be used, and what is known beside it.

    Attributes:
        path: the database.
        why: what is wrong with it.
        found: what was seen of it.
        backups: the folder of the backups.
        log_end: what the log file says.
    """

    path: Path
    why: str
    found: Examined
    backups: Path
    log_end: LogEnd


def restore(damage: Damage, now: datetime) -> Restored:
    """Restore a database that nobody has open.

    Raises:
        StoreFull: there is no room to do it; nothing was changed.
        StoreError: it cannot be done; nothing was changed.
    """
    path, build = damage.path, beside(damage.path, ".restored")
    try:
        base = _lay_base(damage, build, now)
        restored = _fill(damage, build, base, now)
        if left := faults(build):
            raise StoreError(f"{path}: could not be restored, the new one is not sound: {left[0]}")
        _set_aside(path, restored.aside)
        flush(build)
        write_whole(beside(path, ".restoring"), f"{restored.aside}\n")
        finish(path)
    except Error as error:
        raise store_error(error, build) from error
    except OSError as error:
        raise StoreFull(f"{path}: is damaged ({damage.why}), and could not be restored: {error}") from error
    return restored


def finish(path: Path) -> None:
    """Finish a restore that was interrupted when all of it was ready; nothing happens when there was none."""
    note, build = beside(path, ".restoring"), beside(path, ".restored")
    if not note.exists():
        build.unlink(missing_ok=True)
        return
    if build.exists():
        for name in ("-wal", "-shm"):
            beside(path, name).unlink(missing_ok=True)
        flush(path.parent)
        publish(build, path)
    note.unlink()
    flush(path.parent)


def _lay_base(damage: Damage, build: Path, now: datetime) -> Path | None:
    """Copy the newest backup that is sound and fits; None where the new database begins empty."""
    build.parent.mkdir(parents=True, exist_ok=True)
    for backup in backups.kept(damage.backups, now):
        build.unlink(missing_ok=True)
        if found := faults(backup):
            log.warning("the backup %s is not sound: %s", backup, found[0])
            continue
        shutil.copyfile(backup, build)
        with closing(connect_draft(build)) as conn:
            try:
                migrations.pending(conn, backup)
            except StoreError as error:
                log.warning("the backup %s cannot be used: %s", backup, error)
                continue
        return backup
    build.unlink(missing_ok=True)
    return None


def _fill(damage: Damage, build: Path, base: Path | None, now: datetime) -> Restored:
    """Bring the base up to date, and into it all that can be salvaged."""
    with closing(connect_draft(build)) as conn:
        old = roots(conn)
        migrations.migrate(conn, build)
        for name in migrations.guards():
            conn.execute(f'DROP TRIGGER "{name}"')
        raw = damage.path.read_bytes() if damage.path.exists() else b""
        pages = Pages(raw, damage.found.log.pages)
        salvage = Salvage(conn, pages, old or roots(conn), doubtful=damage.found.log.unplaced)
        carried = salvage.run(beside(damage.path, ".salvage"))
        last_event = conn.execute("SELECT COALESCE(MAX(id), 0) FROM execution_logs").fetchone()[0]
        _raise_ids(conn, carried, damage.log_end)
        facts = _Facts(
            why=damage.why,
            aside=_aside(damage.path, now),
            backup=base,
            backup_at=backups.time_of(base) if base else None,
            carried=carried,
            log_end=damage.log_end,
        )
        restored = _record(conn, facts, _reconcile(conn, carried.tasks, now), last_event, now)
        migrations.migrate(conn, build)
    return restored


def _aside(path: Path, now: datetime) -> Path:
    """A folder that is not there yet."""
    stem = f"{path.stem}-{now:%Y%m%dT%H%M%SZ}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(folder for name in names if not (folder := path.parent / "damaged" / name).exists())


def _set_aside(path: Path, folder: Path) -> None:
    """Keep the damaged files, which stay in their place as well until the new one takes it."""
    folder.mkdir(parents=True)
    for file in (beside(path, name) for name in ("", "-wal", "-shm")):
        if file.exists():
            try:
                os.link(file, folder / file.name)
            except OSError:  # a file system without hard links
                shutil.copyfile(file, folder / file.name)
                flush(folder / file.name)
    for place in (folder, folder.parent, path.parent):
        flush(place)


KEY = "restored"
"""The state that tells which tasks may have been finished in a life that is lost."""
_SKIPPED = "skipped_ids"
_MARGIN = 1000
_PLAUSIBLE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """How a database was restored.

    Attributes:
        why: what was wrong with it.
        aside: the folder that holds the damaged files.
        backup: what it was restored from, None where there was no sound backup.
        backup_at: when that was made.
        carried: how many rows newer than the backup were taken from the damaged database.
        lost: the tasks that are gone; `titles` says what some of them were.
        uncertain: the tasks that stand as the backup had them, which may be older than the truth.
        failed: the tasks that failed because one on which they depend is lost.
        unreadable: how many pages and records could not be read or made no sense.
    """

    why: str
    aside: Path
    backup: Path | None
    backup_at: datetime | None
    carried: int
    lost: tuple[int, ...]
    titles: Mapping[int, str]
    uncertain: tuple[int, ...]
    failed: tuple[int, ...]
    unreadable: int
    at: datetime

    def summary(self) -> str:
        """All of it in a few sentences."""
        return " ".join((f"The database was damaged: {self.why}.", *self._actions(), *self._losses()))

    def _actions(self) -> tuple[str, ...]:
        kept = f"It is kept in {self.aside}."
        if self.backup and self.backup_at:
            age_s = max(0.0, (self.at - self.backup_at).total_seconds())
            base = f"The backup {self.backup.name}, {coarse(age_s)} old, took its place"
        else:
            base = "There was no sound backup, so an empty database took its place"
        return kept, f"{base}, and {self.carried} newer rows were carried over from the damaged one."

    def _losses(self) -> tuple[str, ...]:
        parts = []
        if self.lost:
            names = (f"{n} ({self.titles[n]})" if n in self.titles else str(n) for n in self.lost[:MAX_NAMED])
            parts.append(f"Lost, please submit them again: task {', '.join(names)}.")
        if self.uncertain:
            parts.append(f"As in the backup, perhaps older than the truth: task {_list(self.uncertain)}.")
        if self.failed:
            parts.append(f"Failed, because one on which it depends is lost: task {_list(self.failed)}.")
        if self.unreadable:
            parts.append(f"{self.unreadable} pages or rows could not be read.")
        return tuple(parts) or ("Nothing is known to be lost.",)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What is known when the rows are in their places."""

    why: str
    aside: Path
    backup: Path | None
    backup_at: datetime | None
    carried: Carried
    log_end: LogEnd


def _raise_ids(conn: Connection, carried: Carried, log_end: LogEnd) -> None:
    """Move all ids beyond everything that was seen, so that none comes again for something else.

    Where the damaged database does not tell which id it gave last, some are left out on top of those that were seen.
    """
    floors = {"tasks": log_end.newest_task, "execution_logs": log_end.newest_event}
    for (table,) in conn.execute("SELECT name FROM main.sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'").fetchall():
        ours = conn.execute("SELECT COALESCE(MAX(seq), 0) FROM main.sqlite_sequence WHERE name = ?", (table,))
        known = max(ours.fetchone()[0], floors.get(table, 0))
        given = carried.sequences.get(table, -1)
        sure = known <= given <= known + _PLAUSIBLE
        last = given if sure else known + _MARGIN
        conn.execute("DELETE FROM main.sqlite_sequence WHERE name = ?", (table,))
        conn.execute("INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))
        if table == "tasks" and not sure:
            skipped = [*(read_state(conn, _SKIPPED) or []), [known + 1, last]]
            write_state(conn, _SKIPPED, skipped, utc_now())


def _record(conn: Connection, facts: _Facts, reconciled: Reconciled, last_event: int, now: datetime) -> Restored:
    """Work out what is lost, and store it: as an event, and as a state that tasks look up.

    Args:
        conn: open on the restored database; its ids were raised.
        facts: what happened.
        reconciled: what became of tasks that could not be carried over.
        last_event: the newest event before the restore.
        now: its time.
    """
    carried, ours = facts.carried, {row[0] for row in conn.execute("SELECT id FROM main.tasks")}
    missed = {line.task for line in facts.log_end.behind(last_event) if line.task and line.to}
    lost = sorted(_given(conn, carried, facts.log_end) - ours)
    uncertain = sorted({*reconciled.uncertain, *(missed & ours - set(reconciled.ended))})
    restored = Restored(
        why=facts.why,
        aside=facts.aside,
        backup=facts.backup,
        backup_at=facts.backup_at,
        carried=sum(carried.rows.values()),
        lost=tuple(lost),
        titles={**facts.log_end.titles, **carried.titles},
        uncertain=tuple(uncertain),
        failed=reconciled.failed,
        unreadable=carried.unreadable + sum(carried.refused.values()),
        at=now,
    )
    _log_warning(conn, Kind.DATABASE_RESTORED, restored.summary(), _data(restored, carried), now)
    since = to_text(facts.backup_at) if facts.backup_at else None
    open_ = [row[0] for row in conn.execute("SELECT id FROM main.tasks WHERE status NOT IN ('done', 'cancelled')")]
    state = {"at": to_text(now), "since": since, "tasks": sorted({*uncertain} & {*open_}), "told": restored.summary()}
    write_state(conn, KEY, state, now)
    return restored


def _given(conn: Connection, carried: Carried, log_end: LogEnd) -> set[int]:
    """The ids of all tasks that ever were, as far as it is known."""
    seen = {*carried.seen, *(line.task for line in log_end.lines if line.task)}
    last: int = conn.execute("SELECT seq FROM main.sqlite_sequence WHERE name = 'tasks'").fetchone()[0]
    skipped = [range(first, end + 1) for first, end in read_state(conn, _SKIPPED) or []]
    known = range(1, last + 1) if last <= _PLAUSIBLE else ()
    return {n for n in {*known, *(n for n in seen if 0 < n <= last)} if not any(n in span for span in skipped)}


def _data(restored: Restored, carried: Carried) -> dict[str, object]:
    return {
        "aside": str(restored.aside),
        "backup": restored.backup.name if restored.backup else None,
        "backup_at": to_text(restored.backup_at) if restored.backup_at else None,
        "carried": dict(carried.rows),
        "refused": dict(carried.refused),
        "unreadable": carried.unreadable,
        "lost": list(restored.lost[:MAX_NAMED]),
        "uncertain": list(restored.uncertain[:MAX_NAMED]),
        "fallen": list(restored.failed[:MAX_NAMED]),
    }


def _list(ids: tuple[int, ...]) -> str:
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(map(str, ids[:MAX_NAMED])) + more


MAX_NAMED = 300
"""How many ids an event's data names at most; it is small JSON."""
_FREE = "worker = NULL, lease_until = NULL, cancel_requested = 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What became of tasks that are not certain.

    `ended` are those whose end the log told, `uncertain` those that stand as the backup had them, `failed` those that
    waited for one that is lost.
    """

    ended: tuple[int, ...]
    uncertain: tuple[int, ...]
    failed: tuple[int, ...]


def _reconcile(conn: Connection, certain: Iterable[int], now: datetime) -> Reconciled:
    """Bring all tasks but the `certain` ones into a state that the log agrees with, then those that wait for others.

    `conn` has no triggers.
    """
    known, ended, uncertain = set(certain), list[int](), list[int]()
    query = f"SELECT t.id, t.status, {row_validation.LAST_MOVE} AS move FROM main.tasks t ORDER BY t.id"  # noqa: S608
    for task_id, status, move in conn.execute(query).fetchall():
        last = json.loads(move) if move else {}
        if task_id in known or status == Status.DONE:
            if last.get("to", status) != status:
                _log_status(conn, task_id, status, "the log of its moves was damaged", now)
        elif _ends(last) and last["to"] != status:
            _end(conn, task_id, last, now)
            ended.append(task_id)
        else:
            uncertain.append(task_id)
            if last.get("to", status) != status:
                _log_status(conn, task_id, status, "as it was in the backup", now)
    failed = tuple(_fail_dependants(conn, now))
    _free_dependants(conn, now)
    return Reconciled(ended=tuple(ended), uncertain=tuple(uncertain), failed=failed)


def _log_status(conn: Connection, task_id: int, status: str, reason: str, now: datetime) -> None:
    """Enter a task's state into the log, so that the log says what the row says."""
    ending = conn.execute("SELECT ending FROM main.tasks WHERE id = ?", (task_id,)).fetchone()[0]
    data = {"from": None, "to": status, "ending": ending, "reason": reason}
    _log_warning(conn, Kind.TASK_RECOVERED, f"restored as {status}: {reason}", data, now, task_id)


def _log_warning(
    conn: Connection, kind: Kind, message: str, data: dict[str, object], now: datetime, task_id: int | None = None
) -> None:
    """Enter a warning into the log; there is no `EventLog` yet, and nobody who listens."""
    conn.execute(
        "INSERT INTO main.execution_logs (at, level, kind, message, task_id, data) VALUES (?, ?, ?, ?, ?, ?)",
        (to_text(now), Level.WARNING, kind, message, task_id, encode(data)),
    )


def _ends(move: dict[str, object]) -> bool:
    return move.get("to") in ENDED and move.get("ending") in set(Ending)


def _end(conn: Connection, task_id: int, move: dict[str, object], now: datetime) -> None:
    """Let a task have ended as the log says, with the commit that the ledger knows of it."""
    ledger = "FROM main.git_commits WHERE task_id = :id AND label <> 'draft' ORDER BY id DESC LIMIT 1"
    known = f", commit_id = (SELECT commit_id {ledger}), branch = (SELECT branch {ledger})"
    committed = known if move["to"] == Status.DONE else ""
    conn.execute(
        f"UPDATE main.tasks SET status = :to, ending = :ending, reason = :reason, ended_at = :at, {_FREE}{committed} "  # noqa: S608
        "WHERE id = :id",
        {
            "id": task_id,
            "to": move["to"],
            "ending": move["ending"],
            "reason": str(move.get("reason") or ""),
            "at": to_text(now),
        },
    )


_NEEDED = "FROM main.task_specs s, json_each(s.spec, '$.depends_on') d WHERE s.task_id = t.id"


def _fail_dependants(conn: Connection, now: datetime) -> Iterator[int]:
    """Let no task wait for one that is lost or has failed, all the way down."""
    hope = "(SELECT id FROM main.tasks WHERE status NOT IN ('failed', 'cancelled'))"
    hopeless = f"status = 'blocked' AND EXISTS (SELECT 1 {_NEEDED} AND d.value NOT IN {hope})"
    reason = "a task on which it depends was lost with the damaged database, or has failed"
    change = f"status = 'failed', ending = 'dependency', reason = ?, ended_at = ?, {_FREE}"
    while failed := conn.execute(f"SELECT id FROM main.tasks t WHERE {hopeless}").fetchall():  # noqa: S608
        for (task_id,) in failed:
            conn.execute(f"UPDATE main.tasks SET {change} WHERE id = ?", (reason, to_text(now), task_id))  # noqa: S608
            _log_status(conn, task_id, Status.FAILED, reason, now)
            yield task_id


def _free_dependants(conn: Connection, now: datetime) -> None:
    """Let no task wait for what is done already."""
    ready = f"NOT EXISTS (SELECT 1 {_NEEDED} AND d.value NOT IN (SELECT id FROM main.tasks WHERE status = 'done'))"  # noqa: S608
    for (task_id,) in conn.execute(f"SELECT id FROM main.tasks t WHERE status = 'blocked' AND {ready}").fetchall():  # noqa: S608
        conn.execute("UPDATE main.tasks SET status = 'queued' WHERE id = ?", (task_id,))
        _log_status(conn, task_id, Status.QUEUED, "all that it depends on is done", now)
