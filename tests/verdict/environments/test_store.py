"""The size limit of a folder while it is being filled."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.sandbox import job_folders
from nightshift.verdict.environments import store
from nightshift.verdict.environments.store import FolderStore, limit_size

PIECE = b"x" * (1 << 20)


async def pieces(folder: Path, count: int) -> str:
    """Write `count` files of one MB each."""
    for number in range(count):
        (folder / str(number)).write_bytes(PIECE)
        await asyncio.sleep(0.001)
    return "done"


async def test_what_is_too_large_is_refused_also_where_it_was_quick(tmp_path: Path) -> None:
    assert await limit_size(pieces(tmp_path, 2), tmp_path, 3) == "done"
    with pytest.raises(SandboxError, match="the packages use more than 3 MB"):
        await limit_size(pieces(tmp_path, 5), tmp_path, 3)


async def test_what_grows_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LOOK_AT_SIZE_S", 0.01)
    ended = list[str]()

    async def endless() -> None:
        try:
            await pieces(tmp_path, 1000)
        finally:
            ended.append("stopped")

    with pytest.raises(SandboxError, match="more than 3 MB"):
        await limit_size(endless(), tmp_path, 3)
    assert ended == ["stopped"]
    assert store.size_of(tmp_path) < 1000 * len(PIECE)


async def test_a_folder_that_a_cleaner_removed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_folders, "enterable", lambda _folder: False)  # as if jobs could not enter the home
    stand_in = tmp_path / "instead"
    stand_in.mkdir()
    monkeypatch.setattr(job_folders.public, "__defaults__", (stand_in,))
    cache = tmp_path / "cache" / "environments"
    store = FolderStore(cache, keep_mb=1)

    async def fill(folder: Path) -> None:
        (folder / "a.txt").write_text("a")

    for gone in (cache.parent, store.path("a").parent, None):
        async with store.lock("a"):
            assert (await store.build("a", fill) / "a.txt").read_text() == "a"
        if gone:
            shutil.rmtree(gone)
