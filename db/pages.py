"""Reads tables from the pages of a database that SQLite itself refuses to open.

SQLite gives up at the first malformed page; most rows stand on others. So the trees are walked here page by page: a
page that cannot be read costs the rows below it and no more, and each such loss is counted. Nothing is inferred: a
record that does not fill its place to the byte is no record. Whether what was read makes sense is decided elsewhere.

Format: https://sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Value = None | int | float | str | bytes

PAGE = 4096
"""The size that SQLite gives a page unless it is told otherwise, and ours is never told."""
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
