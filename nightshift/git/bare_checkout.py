"""Writes the `.git` of a checkout without history, so that `ls-files`, `check-ignore` and `rev-parse` work there."""

from __future__ import annotations

import hashlib
import posixpath
import re
import struct
from collections.abc import Iterator
from functools import lru_cache

from nightshift.core.code.tree import Linked, Tree
from nightshift.core.text.encoding import encode

MOST = 20_000
"""Maximum number of files in a tree that gets a `.git`. Larger trees get none, because each run copies the index."""
_FILES = {
    ".git/HEAD": b"ref: refs/heads/main\n",
    ".git/config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    ".git/objects/info/packs": b"\n",
    ".git/refs/heads/.keep": b"",
}
_FILE, _PROGRAM, _LINK = 0o100644, 0o100755, 0o120000
_SHA1 = re.compile(r"[0-9a-f]{40}")


@lru_cache(maxsize=2)
def write_checkout(tree: Tree) -> tuple[tuple[str, bytes], ...]:
    """Return the files of a `.git` whose index lists a tree's files, as pairs of path and bytes.

    The result is empty if the tree's object ids are not SHA-1.
    """
    entries = tree.entries()
    if len(entries) > MOST or not all(map(_SHA1.fullmatch, entries.values())) or ".git" in entries:
        return ()
    return tuple({**_FILES, ".git/index": _write_index(tree)}.items())


def _write_index(tree: Tree) -> bytes:
    listed = sorted(_list(tree))
    parts = [struct.pack(">4sLL", b"DIRC", 2, len(listed))]
    for name, mode, blob in listed:
        # The times and the size are zero, so that git compares the content of the file.
        entry = struct.pack(">6L4L20sH", *(0,) * 6, mode, 0, 0, 0, blob, min(len(name), 0xFFF)) + name
        parts.append(entry + b"\0" * (8 - len(entry) % 8))
    content = b"".join(parts)
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


def _list(tree: Tree) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield the name, the mode and the blob id of each file and link."""
    links, programs = (tree.links(), tree.programs()) if isinstance(tree, Linked) else ({}, frozenset[str]())
    for path, blob in tree.entries().items():
        yield encode(path), _PROGRAM if path in programs else _FILE, bytes.fromhex(blob)
    for path, target in links.items():
        text = encode(posixpath.relpath(target, posixpath.dirname(path) or "."))
        digest = hashlib.sha1(b"blob %d\0%b" % (len(text), text), usedforsecurity=False).digest()
        yield encode(path), _LINK, digest
