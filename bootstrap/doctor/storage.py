"""The database: its schema, its soundness, its size, and the backups that stand behind it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, ago, fault, in_bytes, note, ok, warning
from core.errors import StoreDamaged, StoreError, StoreMissing, StoreTooNew, StoreTooOld
from db import backups
from db.inspection import facts, quick_faults

QUICK_S, DEEP_S = 15.0, 600.0
LOG_MANY = 256_000_000
RESTORE = "stop the daemon and start it again: it restores the newest sound backup by itself (docs/recovery.md)"


def database(patient: Patient) -> Iterator[Finding]:
    """Look at the file itself."""
    path = patient.settings.db_path
    if not path.exists():
        yield note("database", f"{path} does not exist yet: nothing was ever submitted")
        return
    yield from _schema(path)
    yield from _soundness(path, DEEP_S if patient.deep else QUICK_S)
    yield _size(path, patient)
    yield _log(path.with_name(path.name + "-wal"))


def kept(patient: Patient) -> Iterator[Finding]:
    """Look at the backups."""
    settings, now = patient.settings, patient.clock()
    found = backups.kept(settings.backups_dir, now)
    if not found:
        if settings.db_path.exists():
            yield warning(
                "backups", f"there is none in {settings.backups_dir}", "start the daemon: it makes one an hour"
            )
        return
    newest = found[0]
    yield _age(newest, len(found), now, patient)
    faults = _quick(newest, QUICK_S)
    if faults:
        mend = f"remove it, or look for a sound one among the {len(found)}: {settings.backups_dir}"
        yield fault("newest backup", f"{newest.name} is damaged: {faults[0]}", mend)
    elif faults is None:
        yield note("newest backup", f"{newest.name} was not read to its end in {QUICK_S:g} s")
    else:
        yield ok("newest backup", f"{newest.name} is sound, {in_bytes(newest.stat().st_size)}")


def _schema(path: Path) -> Iterator[Finding]:
    try:
        told = facts(path)
    except StoreTooNew as error:
        yield fault("schema", str(error), "bring this checkout up to date (git pull), or give another home")
    except StoreTooOld as error:
        yield note("schema", str(error), "start the daemon once")
    except StoreDamaged as error:
        yield fault("schema", str(error), RESTORE)
    except StoreMissing:
        return
    except StoreError as error:
        yield fault("schema", str(error), f"make {path} readable for you; if another program keeps it locked, end that")
    else:
        yield ok("schema", f"up to date; tasks: {told.tasks}, unread commits: {told.unread}")


def _soundness(path: Path, limit_s: float) -> Iterator[Finding]:
    found = _quick(path, limit_s)
    if found is None:
        yield note("quick check", f"did not come to its end in {limit_s:g} s", "cli.py --doctor --deep takes its time")
    elif found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield fault("quick check", f"{found[0]}{more}", RESTORE)
    else:
        yield ok("quick check", "sound")


def _quick(path: Path, limit_s: float) -> list[str] | None:
    try:
        return quick_faults(path, limit_s)
    except StoreError as error:
        return [str(error)]


def _size(path: Path, patient: Patient) -> Finding:
    size, most = path.stat().st_size, patient.settings.database_max_mb * 1_000_000
    if size > most:
        mend = "it shrinks by itself while the daemon runs; else lower keep_work_days, or raise database_max_mb"
        return warning("size", f"{in_bytes(size)}, more than database_max_mb ({in_bytes(most)})", mend)
    return ok("size", f"{in_bytes(size)} of {in_bytes(most)} allowed")


def _log(path: Path) -> Finding:
    size = path.stat().st_size if path.exists() else 0
    if size > LOG_MANY:
        mend = "something reads the database all the time and keeps the log from being folded in: end it"
        return warning("write-ahead log", in_bytes(size), mend)
    return ok("write-ahead log", in_bytes(size))


def _age(newest: Path, count: int, now: datetime, patient: Patient) -> Finding:
    at = backups.time_of(newest) or now
    text = f"{count} kept, the newest {ago(now - at)}"
    late = timedelta(seconds=3 * patient.settings.state_interval_s)
    if patient.holder is not None and now - at > late:
        mend = "look for `backup_failed` with cli.py --logs 200 --level WARNING; often the disk is full"
        return warning("backups", f"{text}, though the daemon runs", mend)
    return ok("backups", text)
