"""The port through which the files of a commit are read; it stands alone, because verdicts name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Tree(Protocol):
    """The files of one commit, read without a checkout."""

    @property
    def commit(self) -> str:
        """Full id of the commit."""
        ...

    def entries(self) -> Mapping[str, str]:
        """Path to the id of its content, for each regular file, in path order."""
        ...

    def unwritable(self) -> frozenset[str]:
        """Paths that hold a link or a submodule: nothing may be written there or below."""
        ...

    def read(self, path: str) -> bytes:
        """A file's bytes.

        Raises:
            KeyError: there is no such file.
        """
        ...
