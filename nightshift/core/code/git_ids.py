"""Computes the ids of git's objects: hashes of a header with the kind and the size, followed by the object's bytes."""

from __future__ import annotations

import hashlib
from typing import Literal

IdFormat = Literal["sha1", "sha256"]
ObjectKind = Literal["blob", "tree", "commit"]


def with_head(kind: ObjectKind, data: bytes) -> bytes:
    """Return an object's bytes with the header that git hashes and stores with them."""
    return b"%s %d\0%s" % (kind.encode(), len(data), data)


def id_of(stored: bytes, id_format: IdFormat) -> str:
    """Return the id of an object, given the bytes that git stores for it, including the header."""
    return hashlib.new(id_format, stored, usedforsecurity=False).hexdigest()


def blob_id(data: bytes, id_format: IdFormat) -> str:
    """Return the id of a file's content."""
    return id_of(with_head("blob", data), id_format)


def format_of(id_: str) -> IdFormat:
    """Return the hash algorithm of an id."""
    return "sha256" if len(id_) == 64 else "sha1"
