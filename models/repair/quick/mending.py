"""Puts the families of quick mends together: texts that are no Python first, then one trouble after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.trials import Trouble
from models.repair.quick.mend import Mend, fault_of
from models.repair.quick.syntax import syntax_mends


def quick_mends(files: Mapping[str, str], troubles: Sequence[tuple[str, Trouble]]) -> Iterator[Mend]:
    """New texts of single files, best first, each once.

    `files` are the tree's own files, path to text. The first member of a trouble's pair is the id of a test or a path.
    Texts that are no Python are mended first, and then nothing else: what the tests told is of no worth before that.
    """
    broken = [path for path in files if path.endswith(".py") and fault_of(files[path]) is not None]
    for path in broken:
        yield from syntax_mends(path, files[path])
