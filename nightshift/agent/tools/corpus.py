"""The text of a whole commit in one buffer, so that a search over thousands of files takes milliseconds.

Each commit is read once into a nameless temporary file and mapped into memory: the operating system keeps the pages
that fit and drops the rest, and the daemon itself only stores the offsets. Files that are binary, not UTF-8 or larger
than `MAX_FILE_BYTES` are not searched; nor are files beyond `MAX_BYTES` of text.
"""

from __future__ import annotations

import mmap
import tempfile
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree

MAX_FILE_BYTES = 2_000_000
MAX_BYTES = 256_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """All texts of a commit, concatenated; `spans` has each path's start and end in `buffer`."""

    buffer: mmap.mmap | bytes
    paths: tuple[str, ...]
    starts: tuple[int, ...]
    spans: Mapping[str, tuple[int, int]] = field(repr=False)
    left_out: int = 0
    """Number of files that are not in the buffer."""

    def release(self) -> None:
        """Return the pages to the operating system's cache; the next search reads them from there."""
        if isinstance(self.buffer, mmap.mmap):
            self.buffer.madvise(mmap.MADV_DONTNEED)

    def path_at(self, offset: int) -> str:
        """Return the file at an offset."""
        return self.paths[bisect_right(self.starts, offset) - 1]


def read_corpus(tree: Tree) -> Corpus:
    """Read the texts of a commit; takes as long as reading all of its files."""
    paths, starts, spans, size, left_out = list[str](), list[int](), dict[str, tuple[int, int]](), 0, 0
    with tempfile.TemporaryFile() as file:
        for path in tree.entries():
            raw = tree.read(path)
            if len(raw) > MAX_FILE_BYTES or size + len(raw) > MAX_BYTES or not _is_text(raw):
                left_out += 1
                continue
            paths.append(path)
            starts.append(size)
            spans[path] = (size, size + len(raw))
            size += file.write(raw) + file.write(b"\n")
        file.flush()
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    return Corpus(buffer=buffer, paths=tuple(paths), starts=tuple(starts), spans=spans, left_out=left_out)


def _is_text(raw: bytes) -> bool:
    if b"\0" in raw:
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


class CorpusCache:
    """The corpora of the most recently searched commits. Thread-safe."""

    def __init__(self, most: int = 4) -> None:
        self._most, self._lock = most, threading.Lock()
        self._corpora: OrderedDict[str, Corpus] = OrderedDict()

    def get(self, tree: Tree) -> Corpus:
        """Return the corpus of a tree's commit; it is read now if it is not cached."""
        with self._lock:
            if tree.commit in self._corpora:
                self._corpora.move_to_end(tree.commit)
                return self._corpora[tree.commit]
        corpus = read_corpus(tree)
        with self._lock:
            self._corpora[tree.commit] = corpus
            while len(self._corpora) > self._most:
                self._corpora.popitem(last=False)
        return corpus


def line_bounds(buffer: mmap.mmap | bytes, offset: int) -> tuple[int, int]:
    """Return the start and end of an offset's line; the end excludes the newline."""
    start = buffer.rfind(b"\n", 0, offset) + 1
    end = buffer.find(b"\n", offset)
    return start, len(buffer) if end < 0 else end


def count_lines(buffer: mmap.mmap | bytes, start: int, end: int) -> int:
    """Count the newlines between two offsets."""
    return buffer[start:end].count(b"\n")


def matching_lines(pattern: object, buffer: mmap.mmap | bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line, between two offsets, in which a compiled pattern matches.

    Each line is yielded only once. A match that extends beyond the end of its line does not count, because it could
    reach into the next file.
    """
    at = start
    while at <= end:
        match = pattern.search(buffer, at, end)  # type: ignore[attr-defined]  # RE2 ships no types
        if match is None:
            return
        line = line_bounds(buffer, min(match.start(), max(start, end - 1)))
        if match.end() <= line[1] or pattern.search(buffer, *line):  # type: ignore[attr-defined]
            yield line
        at = max(line[1], match.start()) + 1
