"""Facts about suites in files of JSON that may be lost: they are read leniently and written at once."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from nightshift.core.text.from_plain import from_plain
from nightshift.storage.files.whole import write_whole

T = TypeVar("T")

log = logging.getLogger(__name__)


def read(path: Path, kind: type[T], what: str) -> T | None:
    """The content of a file as a value of that type; None where there is none that can be read.

    Args:
        path: of the file.
        kind: what `core.text.from_plain` makes.
        what: the content in words, for the log.
    """
    try:
        return from_plain(kind, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        log.info("%s is learned anew, %s cannot be read: %s", what, path, type(error).__name__)
        return None


def write(path: Path, content: Mapping[str, object], what: str) -> None:
    """Write a file; where that cannot be, what it would have held is not kept. The arguments are those of `read`."""
    try:
        write_whole(path, json.dumps(content, separators=(",", ":")), mode=0o600)
    except OSError as error:
        log.info("%s is not kept: %s", what, error)
