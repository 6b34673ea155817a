"""In-memory trees, for tests of code that reads a commit's files."""

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
"""A file whose first line declares its encoding, and a file of all bytes. The tests pass as long as both stay
unchanged.
"""


class TextTree:
    """The files of an invented commit: path to text."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(sorted((files or {}).items()))

    @property
    def commit(self) -> str:
        """An id that is computed from the content, like git's."""
        return hashlib.sha1(repr(self.files).encode()).hexdigest()

    def entries(self) -> Mapping[str, str]:
        """Map each path to the digest of its text."""
        return {path: hashlib.sha1(encode(text)).hexdigest() for path, text in self.files.items()}

    def unwritable(self) -> frozenset[str]:
        """Return no paths, because a text tree has no links."""
        return frozenset()

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        return encode(self.files[path])
