"""Trees that live in memory, for tests of what reads a commit's files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from nightshift.core.text.encoding import encode

OTHER_BYTES = {
    "names.py": b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n\n\ndef name():\n    return NAME\n",
    "odd.dat": bytes(range(256)),
    "test_names.py": (
        b"# -*- coding: latin-1 -*-\nimport pathlib\n\nfrom names import name\n\n\n"
        b"def test_name():\n    assert name() == 'caf\xe9'\n    assert len(name()) == 4\n\n\n"
        b"def test_odd():\n    raw = pathlib.Path('odd.dat').read_bytes()\n    assert raw[:256] == bytes(range(256))\n"
    ),
}
"""Files in an encoding that only their first line names, and of all bytes; the tests hold as long as they are kept."""


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
        return {path: hashlib.sha1(encode(text)).hexdigest() for path, text in self.files.items()}

    def unwritable(self) -> frozenset[str]:
        """Texts hold no links."""
        return frozenset()

    def read(self, path: str) -> bytes:
        """A file's bytes."""
        return encode(self.files[path])
