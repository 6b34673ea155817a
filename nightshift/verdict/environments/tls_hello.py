"""Reads the first message of a TLS client, as far as it says which host the client means to speak to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

MOST_BYTES = 32 << 10


async def first_message(reader: asyncio.StreamReader) -> bytes:
    """The records of a client's first message; what is no TLS is given back as far as it was read.

    Raises:
        asyncio.IncompleteReadError: the client ended before.
    """
    whole, wanted = b"", 4
    while len(_handshake(whole)) < wanted and len(whole) < MOST_BYTES:
        header = await reader.readexactly(5)
        if header[0] != 22 or header[1] != 3:
            return whole + header
        whole += header + await reader.readexactly(int.from_bytes(header[3:5]))
        message = _handshake(whole)
        wanted = 4 + int.from_bytes(message[1:4]) if len(message) >= 4 else 4
    return whole


def _handshake(records: bytes) -> bytes:
    """Join the content of the records, without their headers."""
    found, at = b"", 0
    while at + 5 <= len(records):
        size = int.from_bytes(records[at + 3 : at + 5])
        found += records[at + 5 : at + 5 + size]
        at += 5 + size
    return found


def server_name(records: bytes) -> str:
    """The host that a TLS client says it speaks to; empty where it names none or that is no such message."""
    message = _handshake(records)
    if message[:1] != b"\x01" or len(message) < 4 + int.from_bytes(message[1:4]):
        return ""
    at = 4 + 2 + 32
    for width in (1, 2, 1):  # session, ciphers, compression
        at += width + int.from_bytes(message[at : at + width])
    names = [content for kind, content in _extensions(message[at + 2 :]) if kind == 0]
    if len(names) != 1 or len(names[0]) < 5 or names[0][2] != 0:
        return ""
    return names[0][5 : 5 + int.from_bytes(names[0][3:5])].decode("ascii", "replace").lower()


def _extensions(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at + 2 : at + 4])
        yield int.from_bytes(data[at : at + 2]), data[at + 4 : at + 4 + size]
        at += 4 + size
