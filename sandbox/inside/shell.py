"""The trusted parent of a command: unpacks a tree, runs `sh` in it, and tells which files the command left otherwise.

It tells so from the file system alone, once every process of the command is gone: what the command prints has no say in
it. A file is read again only where its inode, size or time of change, which no program can set, differ from before, so
a large tree costs a look at each file and no more.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH101, PTH103, PTH109, PTH112, PTH118, PTH120, PTH123, PTH211

import gc
import hashlib
import os
import signal
import stat
import sys

from . import files, supervisor
from .child import Child, Ends

IGNORED = frozenset({
    "__pycache__", ".pytest_cache", ".hypothesis", "node_modules", ".mypy_cache", ".ruff_cache",
})  # fmt: skip
IGNORED_ENDS = (".pyc", ".egg-info")
MOST_FILES, MOST_FILE, MOST_BYTES = 40, 1 << 20, 4 << 20
"""What is told of: so many files, the bytes of one, and of all."""
MOST_NAMED, MOST_NEW = 40, 20_000
"""How many others are named, and how many new entries are looked at."""
KEPT = 32 << 10
"""Bytes of the output's beginning, and of its end."""


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    serve(sys.argv[2:])


def preload(_libraries):
    """What every run needs is imported with this module."""


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths that the command's Python has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    supervisor.hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    files.write(files.contents(job, source), ())
    before = Before(job)
    env = settled(job, libraries)
    output = Ends(KEPT)
    # The fork's copy of this memory, with the key in it, is gone when it becomes the shell.
    answer = {"command": Child(run, (job["command"], env)).watch(job, output=output)}
    answer["output"] = [*(bytes(end).decode("utf-8", "replace") for end in output.ends), output.left_out]
    answer["files"], answer["dropped"] = told(before)
    supervisor.reply(key, answer)


def run(_told, _reporting, argument):
    """In the child: the shell."""
    command, env = argument
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, which the command would inherit
    os.execve("/bin/sh", ["sh", "-c", command], env)  # noqa: S606 (this is what the sandbox is for)


def settled(job, libraries):
    """Put a virtual environment beside the tree, and return the environment variables that make it the command's.

    Its Python imports what tests import: the libraries, and the tree as if it had been installed for editing.
    """
    venv, tree = os.path.join(os.environ["HOME"], ".venv"), os.getcwd()
    programs = os.path.join(venv, "bin")
    series = ".".join(map(str, sys.version_info[:2]))
    packages = os.path.join(venv, "lib", f"python{series}", "site-packages")
    os.makedirs(programs)
    os.makedirs(packages)
    for name in ("python", "python3"):
        os.symlink(sys.executable, os.path.join(programs, name))
    if job["node"]:
        os.symlink(job["node"], os.path.join(programs, "node"))
    source = os.path.join(tree, "src")
    shown = [*libraries, tree, *([source] if os.path.isdir(source) else [])]
    settings = f"home = {os.path.dirname(sys.executable)}\ninclude-system-site-packages = false\n"
    for path, text, mode in (
        (f"{venv}/pyvenv.cfg", settings, 0o644),
        (f"{packages}/shown.pth", "".join(f"{path}\n" for path in shown), 0o644),
        (f"{programs}/pytest", f'#!/bin/sh\nexec "{programs}/python" -m pytest "$@"\n', 0o755),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
    path = os.pathsep.join((programs, os.environ.get("PATH", "/usr/bin:/bin")))
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": venv, "PWD": tree}


class Before:
    """The tree as it was unpacked: path to digest, and to what shows that a file was touched."""

    def __init__(self, job):
        wanted = zip(job["files"], job["digests"], strict=True)
        self.digests = {path: digest for (path, _, is_wanted), digest in wanted if is_wanted}
        self.stamps = {path: stamp(os.lstat(path)) for path in self.digests}
        # The clock of these times stands still for some milliseconds: what was touched in the last of them is read.
        self.newest = max((changed for _, _, changed in self.stamps.values()), default=0)

    def has(self, path, found):
        """Tell whether a file surely is what it was."""
        known = stamp(found)
        return self.stamps.get(path) == known and known[2] < self.newest


def stamp(found):
    """What differs after any change of a file's content."""
    return found.st_ino, found.st_size, found.st_ctime_ns


def told(before):
    """The files that are not what they were, path to text or None, and why others do not count."""
    try:
        touched, dropped = walked(before)
    except OverflowError as error:
        return {}, {".": str(error)}
    gone = {path for path in before.digests if path not in touched and not is_ignored(path) and is_gone(path)}
    changed, left = {}, MOST_BYTES
    for path in sorted({*gone, *(path for path, found in touched.items() if found)}):
        try:
            raw = b"" if path in gone else content(path, before.digests.get(path))
        except OSError as error:
            dropped[path] = error.strerror
            continue
        if raw is None:
            continue
        text, why = (None, "") if path in gone else readable(raw)
        if not why and len(changed) == MOST_FILES:
            why = f"more than {MOST_FILES} files were changed"
        if not why and len(raw) > left:
            why = f"the changed files have more than {MOST_BYTES >> 20} MB"
        if why:
            dropped[path] = why
            continue
        changed[path] = text
        left -= len(raw)
    return changed, named(dropped)


def walked(before):
    """Path to stat of each file that may have changed, None for one that has not; and why other entries do not count.

    Raises:
        OverflowError: there are too many.
    """
    touched, dropped, left = {}, {}, len(before.digests) + MOST_NEW
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = listed(folder or ".")
        except OSError as error:
            dropped[folder] = error.strerror
            continue
        left -= len(entries)
        if left < 0:
            raise OverflowError(f"more than {MOST_NEW} new files: nothing that the command did to files counts")
        for entry in entries:
            path = f"{folder}{entry.name}"
            if is_ignored(entry.name):
                continue
            if entry.is_symlink():
                dropped[path], touched[path] = "is a symbolic link", None
            elif entry.is_dir(follow_symlinks=False):
                if entry.name.lower() == ".git":
                    dropped[path] = "belongs to git"
                else:
                    folders.append(f"{path}/")
            elif not entry.is_file(follow_symlinks=False):
                dropped[path], touched[path] = "is no regular file", None
            else:
                found = entry.stat(follow_symlinks=False)
                touched[path] = None if before.has(path, found) else found
    return touched, dropped


def listed(folder):
    """The entries of a folder; one that its owner closed is opened."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except PermissionError:
        os.chmod(folder, 0o700)
        with os.scandir(folder) as found:
            return list(found)


def is_ignored(path):
    """Tell whether a path is a by-product, or lies in one."""
    return any(part in IGNORED or part.endswith(IGNORED_ENDS) for part in path.split("/"))


def is_gone(path):
    """Tell whether no file stands there any more."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return True


def content(path, digest):
    """A file's bytes, one more than count where it has more; None where they are those of the digest."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:
        os.chmod(path, 0o600)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        raw = file.read(MOST_FILE + 1)
        if digest:
            total = hashlib.sha256(raw)
            while part := file.read(MOST_FILE):
                total.update(part)
            if total.hexdigest() == digest:
                return None
    return raw


def readable(raw):
    """A file's text, and why it is none."""
    if len(raw) > MOST_FILE:
        return None, f"is larger than {MOST_FILE >> 20} MB"
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None, "is no UTF-8 text"
    return text, "is no text" if "\0" in text else ""


def named(dropped):
    """The first of them, and how many more there are."""
    names = sorted(dropped)
    shown = {name: dropped[name] for name in names[:MOST_NAMED]}
    more = len(names) - len(shown)
    return {**shown, f"… and {more} more": "not listed"} if more else shown
