"""Reads a database's file and its write-ahead log byte by byte, where SQLite itself refuses or would forget.

SQLite gives up at the first malformed page; most rows stand on others. So the trees are walked here page by page: a
page that cannot be read costs the rows below it and no more, and each such loss is counted. Nothing is inferred: a
record that does not fill its place to the byte is no record. Whether what was read makes sense is decided elsewhere.

SQLite takes a log up to the first frame whose checksum is wrong and silently forgets the rest: right after a power cut,
where the rest was never acknowledged, and wrong after damage, where the rest may be an hour of work. Each frame's
checksum continues that of the frame before, but since that one is stored, every frame can be judged for itself. A
sound frame behind a bad one is work that would be forgotten.

Format: https://sqlite.org/fileformat2.html
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import mul
from pathlib import Path

Value = None | int | float | str | bytes

PAGE = 4096
"""The size that SQLite gives a page by default, and ours never has another."""
_TABLE_LEAF, _TABLE_INNER, _INDEX_LEAF, _INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02
_MAX_RECORD = 1 << 30
_INTS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Unreadable(Exception):
    """What stands in this place cannot be believed."""


@dataclass(slots=True)
class Pages:
    """The pages of a file, with newer ones of its log on top (None: known to be lost).

    Attributes:
        unreadable: how many pages and records were met that could not be read.
    """

    raw: bytes
    newer: Mapping[int, bytes | None] = field(default_factory=dict)
    unreadable: int = 0
    _taken: set[int] = field(default_factory=set)

    def take(self, number: int) -> bytes:
        """A page that no tree has taken yet.

        Raises:
            Unreadable: there is none of that number, it is lost, or another place of a tree has it too.
        """
        if number in self._taken:
            raise Unreadable
        content = self.newer[number] if number in self.newer else self.raw[(number - 1) * PAGE : number * PAGE]
        if number < 1 or content is None or len(content) != PAGE:
            raise Unreadable
        self._taken.add(number)
        return content

    def rows(self, root: int) -> Iterator[tuple[int, list[Value]]]:
        """The rows of a table from its root page on: rowid (0 in a table without rowids) and values."""
        waiting = [root]
        while waiting:
            try:
                page = self.take(number := waiting.pop())
                start = 100 if number == 1 else 0
                kind = page[start]
                cells = _cells(page, start, 12 if kind in {_TABLE_INNER, _INDEX_INNER} else 8)
            except (Unreadable, IndexError):
                self.unreadable += 1
                continue
            if kind in {_TABLE_INNER, _INDEX_INNER}:
                waiting.append(int.from_bytes(page[start + 8 : start + 12]))
                waiting.extend(int.from_bytes(page[cell : cell + 4]) for cell in reversed(cells))
            if kind != _TABLE_INNER:
                yield from self._records(page, kind, cells)

    def _records(self, page: bytes, kind: int, cells: list[int]) -> Iterator[tuple[int, list[Value]]]:
        last = -(1 << 63)
        for cell in cells:
            try:
                rowid, values = self._record(page, kind, cell)
                if kind == _TABLE_LEAF and rowid <= last:
                    raise Unreadable
            except (Unreadable, IndexError, struct.error, UnicodeDecodeError):
                self.unreadable += 1
            else:
                last = rowid
                yield rowid, values

    def _record(self, page: bytes, kind: int, at: int) -> tuple[int, list[Value]]:
        """One cell's rowid and values."""
        if kind not in {_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER}:
            raise Unreadable
        size, at = _varint(page, at + (4 if kind == _INDEX_INNER else 0))
        rowid, at = _varint(page, at) if kind == _TABLE_LEAF else (0, at)
        if not 0 < size <= _MAX_RECORD:
            raise Unreadable
        most = PAGE - 35 if kind == _TABLE_LEAF else (PAGE - 12) * 64 // 255 - 23
        if size <= most:
            if at + size > PAGE:
                raise Unreadable
            return rowid, _values(page[at : at + size])
        least = (PAGE - 12) * 32 // 255 - 23
        here = least + (size - least) % (PAGE - 4)
        here = here if here <= most else least
        return rowid, _values(self._whole(page, at, here, size))

    def _whole(self, page: bytes, at: int, here: int, size: int) -> bytes:
        """A payload that goes on in pages of its own."""
        parts, left = [page[at : at + here]], size - here
        following = int.from_bytes(page[at + here : at + here + 4])
        while left > 0:
            more = self.take(following)
            parts.append(more[4 : 4 + min(left, PAGE - 4)])
            following, left = int.from_bytes(more[:4]), left - (PAGE - 4)
        if following or len(raw := b"".join(parts)) != size:
            raise Unreadable
        return raw


def _cells(page: bytes, start: int, head: int) -> list[int]:
    """Where the cells of a page begin, in the order of their keys."""
    if page[start] not in {_TABLE_LEAF, _TABLE_INNER, _INDEX_LEAF, _INDEX_INNER}:
        raise Unreadable
    count = int.from_bytes(page[start + 3 : start + 5])
    places = start + head, start + head + 2 * count
    cells = list(struct.unpack(f">{count}H", page[places[0] : places[1]])) if places[1] <= PAGE else []
    if len(cells) != count or any(cell < places[1] for cell in cells):
        raise Unreadable
    return cells


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of 1 to 9 bytes, as a signed one of 64 bits, and the place behind it."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >= 1 << 63 else value), at + 9


def _values(record: bytes) -> list[Value]:
    """The values of a record, which must fill it to the byte."""
    end, at = _varint(record, 0)
    if not 0 < end <= len(record):
        raise Unreadable
    values, place = list[Value](), end
    while at < end:
        kind, at = _varint(record, at)
        value, place = _value(record, kind, place)
        values.append(value)
    if at != end or place != len(record):
        raise Unreadable
    return values


def _value(record: bytes, kind: int, at: int) -> tuple[Value, int]:
    if kind in {0, 8, 9}:
        return (None, 0, 1)[max(0, kind - 7)], at
    width = _INTS.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    raw = record[at : at + width]
    if kind < 0 or kind in {10, 11} or len(raw) != width:
        raise Unreadable
    if kind in _INTS:
        return int.from_bytes(raw, signed=True), at + width
    if kind == 7:
        return struct.unpack(">d", raw)[0], at + width
    return (raw.decode() if kind % 2 else raw), at + width


# --- the write-ahead log


HEADER, FRAME_HEADER = 32, 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One page as it was written; `ends` tells that a transaction ends with it."""

    page: int
    ends: bool
    sound: bool
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a log's file holds.

    Attributes:
        pages: the newest sound content of each page, up to the last transaction that ends in a sound frame; None where
            a frame in between is damaged, so that only an older content is known.
        damage: what is wrong, in words; "" for a sound log, and for one whose last transaction was cut short.
        unplaced: a damaged frame may have been of another page than it says, so any page may be older than it seems.
    """

    pages: dict[int, bytes | None]
    damage: str = ""
    unplaced: bool = False


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
        sound = same and _sums(head[:8] + content, order, seed) == stored
        yield Frame(page=page, ends=pages_after > 0, sound=sound, content=content)
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
