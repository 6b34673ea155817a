"""Trees that live in memory, for tests of what reads a commit's files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping


class TextTree:
    """The files of a commit that never was: path to text."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(sorted((files or {}).items()))

    @property
    def commit(self) -> str:
        """A name that follows from the content, as git's does."""
        return hashlib.sha1(repr(self.files).encode()).hexdigest()

    def entries(self) -> Mapping[str, str]:
        """Path to the digest of its text."""
        return {path: hashlib.sha1(text.encode()).hexdigest() for path, text in self.files.items()}

    def unwritable(self) -> frozenset[str]:
        """Texts hold no links."""
        return frozenset()

    def read(self, path: str) -> bytes:
        """A file's bytes."""
        return self.files[path].encode()
