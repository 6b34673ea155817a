"""Stores long texts (prompts, replies and case files), compressed and identified by their SHA-256."""

from __future__ import annotations

import hashlib
import zlib

from nightshift.core.clock import to_text, utc_now
from nightshift.storage.db.sqlite import Connection


def put(conn: Connection, text: str) -> str:
    """Store a text inside a write job, and return its digest. An identical text is stored only once."""
    raw = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(raw).hexdigest()
    conn.execute(
        "INSERT INTO artifacts (digest, chars, body, at) SELECT ?, ?, ?, ? "
        "WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE digest = ?)",
        (digest, len(text), zlib.compress(raw), to_text(utc_now()), digest),
    )
    return digest


def get(conn: Connection, digest: str) -> str | None:
    """Return the text with this digest, or None if there is none."""
    row = conn.execute("SELECT body FROM artifacts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else zlib.decompress(row[0]).decode("utf-8", "surrogatepass")
