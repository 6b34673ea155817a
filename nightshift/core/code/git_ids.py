"""The ids that git gives its objects: a hash of their bytes after a head of kind and size."""

from __future__ import annotations

import hashlib
from typing import Literal

IdFormat = Literal["sha1", "sha256"]
ObjectKind = Literal["blob", "tree", "commit"]


def with_head(kind: ObjectKind, data: bytes) -> bytes:
    """The bytes that git hashes and stores for an object."""
    return b"%s %d\0%s" % (kind.encode(), len(data), data)


def id_of(stored: bytes, id_format: IdFormat) -> str:
    """The id of an object, of whose bytes its head is the first part."""
    return hashlib.new(id_format, stored, usedforsecurity=False).hexdigest()


def blob_id(data: bytes, id_format: IdFormat) -> str:
    """The id of a file's content."""
    return id_of(with_head("blob", data), id_format)


def format_of(id_: str) -> IdFormat:
    """The format of an id."""
    return "sha256" if len(id_) == 64 else "sha1"
