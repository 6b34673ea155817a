"""What a restore cost, entered into the restored database where its owner and its tasks find it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from core.clock import to_text, utc_now
from core.events import Kind
from db.salvage import Carried
from db.settling import MAX_NAMED, Settled, note
from db.sqlite import Connection
from db.state_store import read_state, write_state
from db.witness import Witness

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
        fallen: the tasks that failed because one on which they depend is lost.
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
    fallen: tuple[int, ...]
    unreadable: int
    at: datetime

    def told(self) -> str:
        """All of it in a few sentences."""
        return " ".join((f"The database was damaged: {self.why}.", *self._deeds(), *self._losses()))

    def _deeds(self) -> tuple[str, ...]:
        kept = f"It is kept in {self.aside}."
        if self.backup and self.backup_at:
            age_s = max(0.0, (self.at - self.backup_at).total_seconds())
            base = f"The backup {self.backup.name}, {_span(age_s)} old, took its place"
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
        if self.fallen:
            parts.append(f"Failed, because one on which it depends is lost: task {_list(self.fallen)}.")
        if self.unreadable:
            parts.append(f"{self.unreadable} pages or rows could not be read.")
        return tuple(parts) or ("Nothing is known to be lost.",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known when the rows are in their places."""

    why: str
    aside: Path
    backup: Path | None
    backup_at: datetime | None
    carried: Carried
    witness: Witness


def raise_ids(conn: Connection, carried: Carried, witness: Witness) -> None:
    """Move all ids beyond everything that was seen, so that none comes again for something else.

    Where the damaged database does not tell which id it gave last, some are left out on top of those that were seen.
    """
    floors = {"tasks": witness.newest_task, "execution_logs": witness.newest_event}
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


def enter(conn: Connection, facts: Facts, settled: Settled, last_event: int, now: datetime) -> Restored:
    """Work out what is lost, and store it: as an event, and as a state that tasks look up.

    Args:
        conn: open on the restored database; its ids were raised.
        facts: what happened.
        settled: what became of tasks that could not be carried over.
        last_event: the newest event before the restore.
        now: its time.
    """
    carried, ours = facts.carried, {row[0] for row in conn.execute("SELECT id FROM main.tasks")}
    missed = {line.task for line in facts.witness.behind(last_event) if line.task and line.to}
    lost = sorted(_given(conn, carried, facts.witness) - ours)
    uncertain = sorted({*settled.uncertain, *(missed & ours - set(settled.ended))})
    restored = Restored(
        why=facts.why,
        aside=facts.aside,
        backup=facts.backup,
        backup_at=facts.backup_at,
        carried=sum(carried.rows.values()),
        lost=tuple(lost),
        titles={**facts.witness.titles, **carried.titles},
        uncertain=tuple(uncertain),
        fallen=settled.fallen,
        unreadable=carried.unreadable + sum(carried.refused.values()),
        at=now,
    )
    note(conn, Kind.DATABASE_RESTORED, restored.told(), _data(restored, carried), now)
    since = to_text(facts.backup_at) if facts.backup_at else None
    open_ = [row[0] for row in conn.execute("SELECT id FROM main.tasks WHERE status NOT IN ('done', 'cancelled')")]
    state = {"at": to_text(now), "since": since, "tasks": sorted({*uncertain} & {*open_}), "told": restored.told()}
    write_state(conn, KEY, state, now)
    return restored


def _given(conn: Connection, carried: Carried, witness: Witness) -> set[int]:
    """The ids of all tasks that ever were, as far as it is known."""
    seen = {*carried.seen, *(line.task for line in witness.lines if line.task)}
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
        "fallen": list(restored.fallen[:MAX_NAMED]),
    }


def _list(ids: tuple[int, ...]) -> str:
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(map(str, ids[:MAX_NAMED])) + more


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
