"""The cache of symbol tags survives restarts in a file, whose loss or damage does no harm."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from nightshift.agent.file_ranking import read
from nightshift.agent.symbols import SymbolCache
from nightshift.agent.view import View
from nightshift.app.symbol_cache import VERSION, load_cache, save_cache
from tests.support.trees import TextTree

FILES = {"a.py": "def make(x):\n    return take(x)\n", "b.py": "def take(x):\n    return x\n"}


def test_what_was_read_is_known_after_a_restart(tmp_path: Path) -> None:
    symbol_cache, view = SymbolCache(), View(TextTree(FILES), {})
    first = read(view, symbol_cache)
    save_cache(symbol_cache, tmp_path / "tags")
    later = load_cache(tmp_path / "tags")
    assert len(later) == 2
    assert not later.is_new
    assert read(view, later) == first
    assert not later.is_new, "nothing was read again"


def pack(value: object) -> bytes:
    return zlib.compress(json.dumps(value).encode())


@pytest.mark.parametrize(
    "raw",
    [
        b"rubbish", pack({"version": VERSION, "tags": {"x": [1, 2]}}),
        pack({"version": VERSION + 1, "tags": {"x": [["f"], {}]}}), zlib.compress(b'{"version": 1')[:9],
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_costs_only_time(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "tags").write_bytes(raw)
    assert len(load_cache(tmp_path / "tags")) == 0
