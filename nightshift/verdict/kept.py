"""Stores results of earlier runs, such as how long each test suite took, in JSON files.

The files are caches: losing a file is harmless, and an unreadable file is ignored.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from nightshift.storage.db.codec import decode
from nightshift.storage.files.whole import write_whole

T = TypeVar("T")

log = logging.getLogger(__name__)


def read(path: Path, kind: type[T], what: str) -> T | None:
    """Return a file's content as a value of the given type; None if the file is missing or cannot be read.

    Args:
        path: the file.
        kind: a dataclass.
        what: a description of the content, for the log.
    """
    try:
        return decode(kind, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        log.info("collecting %s again, because %s cannot be read: %s", what, path, type(error).__name__)
        return None


def write(path: Path, content: Mapping[str, object], what: str) -> None:
    """Write the content to a file. If writing fails, only a log line says so. `path` and `what` are as in `read`."""
    try:
        write_whole(path, json.dumps(content, separators=(",", ":")), mode=0o600)
    except OSError as error:
        log.info("cannot store %s: %s", what, error)
