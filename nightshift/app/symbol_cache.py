"""Saves the parsed files of repository maps in a file, so that they survive restarts; the file may be lost.

Tags (definitions and references of symbols) are stored under the id of the content that they were read from, so they
never become stale. If the file is missing, truncated or of another version, only the time to read the repositories
again is lost.
"""

from __future__ import annotations

import json
import logging
import zlib
from pathlib import Path
from sys import intern
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from nightshift.agent.name_index import Tags
from nightshift.agent.symbols import MOST_NAMES, MOST_WORDS, SymbolCache
from nightshift.storage.files.whole import write_whole

NAME = "tags.json.z"
VERSION = 2
"""Version of the format; increase it when `agent.symbols` reads files differently."""
MOST_FILES = 20_000
MOST_BYTES = 128 << 20
"""Maximum size of the decompressed file in bytes; a larger file is cut off and therefore not used."""

log = logging.getLogger(__name__)

_Row = tuple[
    list[str],
    Annotated[dict[str, int], Field(max_length=MOST_NAMES)],
    Annotated[list[str], Field(max_length=MOST_WORDS)],
]


class _Kept(BaseModel):
    """The content of the file: the definitions, the references and the words for each content id."""

    version: int
    tags: dict[str, _Row]


def load_cache(path: Path) -> SymbolCache:
    """Return a cache with the content of the file, or an empty cache if the file cannot be read."""
    try:
        raw = zlib.decompressobj().decompress(path.read_bytes(), MOST_BYTES)
        content = _Kept.model_validate_json(raw)
    except FileNotFoundError:
        return SymbolCache()
    except (OSError, zlib.error, ValidationError) as error:
        log.info("repositories are read again: %s cannot be read: %s", path, type(error).__name__)
        return SymbolCache()
    rows = content.tags.items() if content.version == VERSION else ()
    return SymbolCache(
        tags_by_content={
            key: Tags(defines=tuple(row[0]), refers=row[1], words=tuple(map(intern, row[2]))) for key, row in rows
        }
    )


def save_cache(symbol_cache: SymbolCache, path: Path) -> None:
    """Write the most recently read entries of the cache to the file, unless nothing has changed. Never raises."""
    if not symbol_cache.is_new:
        return
    rows = {key: (tags.defines, tags.refers, tags.words) for key, tags in symbol_cache.last(MOST_FILES)}
    text = json.dumps({"version": VERSION, "tags": rows}, separators=(",", ":"))
    try:
        write_whole(path, zlib.compress(text.encode(), 1), mode=0o600)
    except OSError as error:
        log.info("the cache of symbols could not be written: %s", error)
