"""Checks of the home: its settings, its folders and their permissions, its disk, the database and its backups."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import SecretStr

from nightshift.app.doctor.context import (
    CheckContext,
    Finding,
    fault,
    in_bytes,
    may_write,
    mode_of,
    note,
    ok,
    quote,
    warning,
)
from nightshift.config.load import sources
from nightshift.config.places import Layout
from nightshift.config.reloaded import HOW_TO_REMOVE, OVERRULED
from nightshift.core.errors import StoreDamaged, StoreError, StoreMissing, StoreTooNew, StoreTooOld
from nightshift.core.program import format_command
from nightshift.core.text.formats import ago
from nightshift.queue.store import counts
from nightshift.storage.db import backups
from nightshift.storage.db.database import Database
from nightshift.storage.db.recovery import find_faults
from nightshift.storage.db.sqlite import Error, store_error
from nightshift.storage.db.state_store import unread

SAFE_TOKEN_CHARS = 16
_OTHERS = 0o077


def check_settings(context: CheckContext) -> Iterator[Finding]:
    """Check the settings, and the files that contain the settings."""
    files = [context.settings.config_file, context.settings.overrides_file, context.settings.dotenv_file]
    where = f"correct it in {files[0]}, {files[1].name}, {files[2].name} or the environment, wherever it is set"
    for text in context.faults:
        name, _, rest = text.partition(": ")
        yield fault(name if rest else "settings", rest or text, where)
    if context.faults:
        yield note("the rest", "was checked with the default settings, because yours cannot be used")
        return
    yield ok("settings", _differing(context))
    setting_sources = sources(context.settings)
    if setting_sources.page:
        yield ok("settings page", f"has set {', '.join(sorted(setting_sources.page))}")
    yield from (note(name, OVERRULED, HOW_TO_REMOVE) for name in setting_sources.overruled)
    yield from (_secret(name, context) for name in _secrets(context))
    for file in files:
        yield from _readable(file, context)


def _differing(context: CheckContext) -> str:
    """Name the settings that differ from the defaults, without their values."""
    fields = type(context.settings).model_fields
    names = sorted(
        name
        for name, field in fields.items()
        if name not in Layout.__annotations__
        and getattr(context.settings, name) != field.get_default(call_default_factory=True)
    )
    return f"valid; {len(names)} differ from the defaults" + (f": {', '.join(names)}" if names else "")


def _secrets(context: CheckContext) -> list[str]:
    fields = type(context.settings).model_fields
    return [name for name in fields if isinstance(getattr(context.settings, name), SecretStr)]


def _secret(name: str, context: CheckContext) -> Finding:
    chars = len(getattr(context.settings, name).get_secret_value())
    if name == "api_token" and chars < SAFE_TOKEN_CHARS:
        text = f"has {chars} characters: it can be guessed, because wrong tries do not lock anyone out"
        return warning(name, text, "set a longer one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'")
    return ok(name, "is set; it is never shown")


def _readable(file: Path, context: CheckContext) -> Iterator[Finding]:
    mode = mode_of(file)
    if mode is None:
        return
    if mode & _OTHERS and (file.name == ".env" or _names_a_secret(file, context)):
        yield warning(
            file.name, f"others may read {file} (mode {mode:o}), and it contains secrets", f"chmod 600 {quote(file)}"
        )
    else:
        yield ok(file.name, f"{file}, mode {mode:o}")


def _names_a_secret(file: Path, context: CheckContext) -> bool:
    fields = type(context.settings).model_fields
    names = [name for name, field in fields.items() if "SecretStr" in str(field.annotation)]
    return bool(
        re.search(rf"^\s*({'|'.join(names)})\s*:", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    )


_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ncpfs"})
_SHARED = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs", "virtiofs", "vboxsf", "prl_fs")
_PASSING = frozenset({"tmpfs", "ramfs"})


def check_home(context: CheckContext) -> Iterator[Finding]:
    """Check the home's folder, and the permissions of the files that only the owner may read."""
    settings, uid = context.settings, os.geteuid()
    home = settings.home
    if not home.exists():
        yield note("home", f"{home} does not exist yet", f"mkdir -p {quote(home)}   (the first start also creates it)")
    elif not home.is_dir():
        yield fault("home", f"{home} is not a folder", "give another one with --home or NIGHTSHIFT_HOME")
    elif home.stat().st_uid not in {uid, 0} or (home.stat().st_uid == 0 and uid != 0 and not may_write(home)):
        yield fault(
            "home",
            f"{home} belongs to uid {home.stat().st_uid}, you are {uid}",
            f"sudo chown -R {uid} {quote(home)}",
        )
    else:
        yield ok("home", str(home))
    for folder in dict.fromkeys((home, settings.state_dir, settings.db_path.parent, settings.workspace)):
        if not may_write(folder):
            yield fault(
                folder.name,
                f"{folder} may not be written",
                f"sudo chown -R {uid} {quote(folder)} && chmod u+rwX {quote(folder)}",
            )
    yield from _private(settings.token_file, settings.seal_file)
    yield from _database(settings.db_path)


def check_disk(context: CheckContext) -> Iterator[Finding]:
    """Check the free disk space and the type of the file system."""
    folder = next(each for each in (context.settings.home, *context.settings.home.parents) if each.exists())
    disk, reserve = os.statvfs(folder), context.settings.disk_reserve_mb * 1_000_000
    free = disk.f_bavail * disk.f_frsize
    text = f"{in_bytes(free)} free of {in_bytes(disk.f_blocks * disk.f_frsize)}"
    mend = "free some space; `keep_work_days`, `keep_events_days` and `backups_keep` limit what Nightshift itself keeps"
    if free < reserve:
        yield fault("disk", f"{text}: less than disk_reserve_mb, so no task is started", mend)
    elif free < 3 * reserve:
        yield warning("disk", text, mend)
    else:
        yield ok("disk", text)
    yield _file_system(folder)


def _private(*files: Path) -> Iterator[Finding]:
    for file in files:
        mode = mode_of(file)
        if mode is not None and mode & 0o077:
            yield fault(file.name, f"others may read {file} (mode {mode:o})", f"chmod 600 {quote(file)}")
        elif mode is not None:
            yield ok(file.name, f"only you may read {file}")


def _database(file: Path) -> Iterator[Finding]:
    mode = mode_of(file)
    if mode is not None and mode & 0o022:
        yield fault("database", f"others may write {file} (mode {mode:o})", f"chmod go-w {quote(file)}")
    elif mode is not None and mode & 0o044:
        yield note("database", f"other users may read {file} (mode {mode:o})", f"chmod 700 {quote(file.parent)}")


def _file_system(folder: Path) -> Finding:
    kind, point = _find_mount(folder)
    if kind in _NETWORK or kind in _SHARED:
        text = f"{kind} at {point}: SQLite's locks cannot be relied upon over a network"
        return fault("file system", text, "move the home to a local disk (--home, NIGHTSHIFT_HOME)")
    if kind in _PASSING:
        return warning("file system", f"{kind} at {point} is gone after a restart", "move the home to a disk")
    return ok("file system", f"{kind or 'unknown'} at {point}")


def _find_mount(path: Path) -> tuple[str, str]:
    """Return the type and the mount point of a path's file system, read from mountinfo (see proc(5))."""
    best, kind = "", ""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].encode().decode("unicode_escape")
        if len(point) >= len(best) and (path == Path(point) or path.is_relative_to(point)):
            best, kind = point, right.split(" ")[0]
    return kind, best


QUICK_S, DEEP_S = 15.0, 600.0
RESTORE = "stop the daemon and start it again: it restores the newest sound backup by itself (docs/manual/recovery.md)"


def check_database(context: CheckContext) -> Iterator[Finding]:
    """Check the database file itself."""
    path = context.settings.db_path
    if not path.exists():
        yield note("database", f"{path} does not exist yet: no task was ever added")
        return
    yield from _schema(path)
    yield from _soundness(path, DEEP_S if context.deep else QUICK_S)
    yield _size(path, context)


def check_backups(context: CheckContext) -> Iterator[Finding]:
    """Check the backups: the age of the newest backup, and whether that backup is sound."""
    settings, now = context.settings, context.clock()
    files = backups.list_backups(settings.backups_dir, now)
    if not files:
        if settings.db_path.exists():
            yield note(
                "backups", f"there is none in {settings.backups_dir}", "the daemon makes one an hour while it runs"
            )
        return
    newest = files[0]
    yield _age(newest, len(files), now, context)
    faults = _quick(newest, QUICK_S)
    if faults:
        mend = f"remove it, or look for a sound one among the {len(files)}: {settings.backups_dir}"
        yield fault("newest backup", f"{newest.name} is damaged: {faults[0]}", mend)
    elif faults is None:
        yield note("newest backup", f"{newest.name} could not be read completely in {QUICK_S:g} s")
    else:
        yield ok("newest backup", f"{newest.name} is sound, {in_bytes(newest.stat().st_size)}")


def _schema(path: Path) -> Iterator[Finding]:
    try:
        counts = _counts(path)
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
        yield ok("schema", f"up to date; {counts}")


def _counts(path: Path) -> str:
    try:
        with Database(path, readonly=True, busy_s=1.0) as db:
            return f"tasks: {sum(counts(db.reader()).values())}, unread commits: {unread(db.reader())}"
    except Error as error:
        raise store_error(error, path) from error


def _soundness(path: Path, limit_s: float) -> Iterator[Finding]:
    faults = _quick(path, limit_s)
    if faults is None:
        yield note(
            "quick check",
            f"did not finish within {limit_s:g} s",
            f"{format_command('doctor --deep')} allows more time",
        )
    elif faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        yield fault("quick check", f"{faults[0]}{more}", RESTORE)
    else:
        yield ok("quick check", "sound")


def _quick(path: Path, limit_s: float) -> Sequence[str] | None:
    try:
        return find_faults(path, limit_s)
    except StoreTooNew:
        return ()  # `_schema` reports this problem
    except StoreError as error:
        return [str(error)]


def _size(path: Path, context: CheckContext) -> Finding:
    size, most = path.stat().st_size, context.settings.database_max_mb * 1_000_000
    if size > most:
        mend = "it shrinks by itself while the daemon runs; else lower keep_work_days, or raise database_max_mb"
        return warning("size", f"{in_bytes(size)}, more than database_max_mb ({in_bytes(most)})", mend)
    return ok("size", f"{in_bytes(size)} of {in_bytes(most)} allowed")


def _age(newest: Path, count: int, now: datetime, context: CheckContext) -> Finding:
    at = backups.time_of(newest) or now
    text = f"{count} kept, the newest {ago((now - at).total_seconds())}"
    late = timedelta(seconds=3 * context.settings.state_interval_s)
    is_late = now - at > late and not backups.is_current(newest, context.settings.db_path)
    if context.holder is not None and is_late:
        mend = f"look for `backup_failed` with {format_command('logs 200 --level WARNING')}; often the disk is full"
        return warning("backups", f"{text}, though the daemon runs", mend)
    return ok("backups", text)
