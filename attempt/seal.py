"""The seal of a note: a keyed digest that only the home which wrote the note can make.

The key lies beside the daemon's database, where nothing that runs in the sandbox can read it. Whoever changes a note in
the repository cannot make the seal anew; whoever reads a note of another home learns only that it is another's.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from files.whole import write_once

FIELD = "seal"
_KEY_BYTES = 32


class Sealed(StrEnum):
    """What a seal tells."""

    OURS = "ours"
    BROKEN = "broken"
    ANOTHER = "another"
    NONE = "none"


def of(data: Mapping[str, Any], key: bytes) -> dict[str, str]:
    """The field that seals these data; nothing without a key."""
    return {FIELD: f"{_name(key)}:{_digest(data, key)}"} if key else {}


def look(text: str, key: bytes) -> Sealed:
    """What the seal of a note tells one who has this key."""
    try:
        data = json.loads(text)
        found = str(data.pop(FIELD, ""))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Sealed.BROKEN
    if not found:
        return Sealed.NONE
    name, _, digest = found.partition(":")
    if not key or name != _name(key):
        return Sealed.ANOTHER
    return Sealed.OURS if hmac.compare_digest(digest.encode(), _digest(data, key).encode()) else Sealed.BROKEN


def kept_key(file: Path) -> bytes:
    """The key of this home, made on first use; only the owner can read it."""
    write_once(file, secrets.token_hex(_KEY_BYTES), mode=0o600)
    return read_key(file)


def read_key(file: Path) -> bytes:
    """The key of this home; empty where there is none yet."""
    try:
        return bytes.fromhex(file.read_text())
    except (OSError, ValueError):
        return b""


def _name(key: bytes) -> str:
    return hashlib.sha256(b"name\0" + key).hexdigest()[:12]


def _digest(data: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
