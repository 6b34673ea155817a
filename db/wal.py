"""Reads a write-ahead log byte by byte, to tell a log that was cut short from one that is damaged.

SQLite takes a log up to the first frame whose checksum is wrong and silently forgets the rest: right after a power cut,
where the rest was never acknowledged, and wrong after damage, where the rest may be an hour of work. Each frame's
checksum continues that of the frame before, but since that one is stored, every frame can be judged for itself. A
sound frame behind a bad one is work that would be forgotten.

Format: https://sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from operator import mul
from pathlib import Path

HEADER, FRAME_HEADER = 32, 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One page as it was written.

    `ends` tells that a transaction ends with it, `ours` that it is of this log and no rest of a longer one before it.
    """

    page: int
    ends: bool
    sound: bool
    ours: bool
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a log's file holds.

    Attributes:
        pages: the newest sound content of each page, up to the last transaction that ends in a sound frame; None where
            a frame in between is damaged, so that only an older content is known.
        damage: what is wrong, in words; "" for a sound log, and for one whose last transaction was cut short.
        unplaced: a damaged frame may have been of another page than it says, so any page may be older than it seems.
        torn: the last transaction is not whole. It was never acknowledged, or it is damaged; the log cannot tell.
    """

    pages: dict[int, bytes | None]
    damage: str = ""
    unplaced: bool = False
    torn: bool = False


EMPTY = Log(pages={})


def read_log(path: Path) -> Log:
    """Judge a write-ahead log.

    Raises:
        OSError: the file cannot be read.
    """
    raw = path.read_bytes() if path.exists() else b""
    if len(raw) < HEADER + FRAME_HEADER:
        return EMPTY
    order = _MAGIC.get(int.from_bytes(raw[:4]))
    size = int.from_bytes(raw[8:12])
    head = struct.unpack(">2I", raw[24:32])
    if order is None or size not in {1 << n for n in range(9, 17)} or _sums(raw[:24], order, (0, 0)) != head:
        if not any(raw[HEADER:]):
            return EMPTY
        return Log(pages={}, damage="the head of the write-ahead log is damaged", unplaced=True)
    return _judge(list(_frames(raw, order, size)))


def _frames(raw: bytes, order: str, size: int) -> Iterator[Frame]:
    salts, seed = raw[16:24], struct.unpack(">2I", raw[24:32])
    for start in range(HEADER, len(raw) - FRAME_HEADER - size + 1, FRAME_HEADER + size):
        head, content = raw[start : start + FRAME_HEADER], raw[start + FRAME_HEADER : start + FRAME_HEADER + size]
        page, pages_after = struct.unpack(">2I", head[:8])
        stored = struct.unpack(">2I", head[16:24])
        same = head[8:16] == salts
        # A salt of ours beside one that is not was ours; a longer log of before shares neither.
        ours = head[8:12] == salts[:4] or head[12:16] == salts[4:]
        sound = same and _sums(head[:8] + content, order, seed) == stored
        yield Frame(page=page, ends=pages_after > 0, sound=sound, ours=ours, content=content)
        seed = stored


def _judge(frames: list[Frame]) -> Log:
    last = max((n for n, frame in enumerate(frames) if frame.sound and frame.ends), default=-1)
    pages: dict[int, bytes | None] = {}
    bad = [n + 1 for n, frame in enumerate(frames[: last + 1]) if not frame.sound]
    for frame in frames[: last + 1]:
        pages[frame.page] = frame.content if frame.sound else None
    if bad:
        text = f"frame {bad[0]} of {last + 1} in the write-ahead log is damaged, and sound ones follow it"
        return Log(pages=pages, damage=text, unplaced=True)
    if any(frame.ours and not frame.sound for frame in frames[last + 1 :]):
        return Log(pages=pages, torn=True)
    return Log(pages=pages)


def _sums(data: bytes, order: str, seed: tuple[int, ...]) -> tuple[int, int]:
    """Fletcher-like sums over pairs of words: s0 += x0 + s1, s1 += x1 + s0.

    The recurrence is linear, so it is a product with coefficients (Fibonacci numbers) that depend on the length alone.
    """
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    first, second, ends = _coefficients(len(words))
    one = sum(map(mul, first, words)) + ends[0] * seed[0] + ends[1] * seed[1]
    two = sum(map(mul, second, words)) + ends[2] * seed[0] + ends[3] * seed[1]
    return one & _MASK, two & _MASK


@functools.cache
def _coefficients(count: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, int, int, int]]:
    """What each of `count` words adds to either sum, and what the two seeds add to them."""
    rows: list[tuple[int, int, int, int]] = []
    a, b, c, d = 1, 0, 0, 1  # the sums as they are later, from the sums as they are now
    for _ in range(count // 2):
        # A pair turns (s0, s1) into (s0 + s1 + x0, s0 + 2·s1 + x0 + x1): x0 adds to both, x1 to the second.
        rows.append(((a + b) & _MASK, b, (c + d) & _MASK, d))
        a, b, c, d = (a + b) & _MASK, (a + 2 * b) & _MASK, (c + d) & _MASK, (c + 2 * d) & _MASK
    rows.reverse()
    first = tuple(value for row in rows for value in row[:2])
    second = tuple(value for row in rows for value in row[2:])
    return first, second, (a, b, c, d)
