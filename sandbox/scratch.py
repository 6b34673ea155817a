"""Names for temporary files and folders by which it can be told later whose they are, and that he is dead."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"nightshift-[a-z]+-(\d+)-.+")


def prefix(what: str) -> str:
    """What the name of a temporary file begins with; `what` is one word in small letters."""
    return f"nightshift-{what}-{os.getpid()}-"


def sweep(folder: Path | None = None) -> list[Path]:
    """Remove what processes of this user left behind that are no more; what was removed.

    Args:
        folder: the one for temporary files, the system's if None.
    """
    gone = []
    for path in (folder or Path(tempfile.gettempdir())).glob("nightshift-*"):
        owner = _OURS.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if owner and not Path("/proc", owner[1]).exists() and path.lstat().st_uid == os.geteuid():
                _remove(path)
                gone.append(path)
    return gone


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
