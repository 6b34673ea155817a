"""Selects the tests to run, and defines fixtures that tests of several packages share."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio

from nightshift.core.ports import Sandbox
from nightshift.sandbox.nested import NestedSandbox
from tests.support import tiers
from tests.support.sandboxes import Judge, nest, open_folder

SHARED = {"fork_servers", "warm_sandbox"}
"""Module-scoped fixtures that use the module's event loop. A test with one of these fixtures runs on the same loop."""

hypothesis.settings.register_profile(
    "quick", max_examples=tiers.MOST_EXAMPLES, stateful_step_count=tiers.MOST_STEPS, deadline=None
)
hypothesis.settings.register_profile("all", deadline=None)
hypothesis.settings.load_profile("all" if tiers.ALL else "quick")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while tests are collected.

    The collected objects stay until the end, and scanning them would take a third of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files that contain no test to run, before they are imported."""
    return True if not _asks_for_more(config) and collection_path in tiers.full_files() else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the full tier, deselect them unless they were requested, and put long files first."""
    full = tiers.full_tier(item.nodeid for item in items)
    for item in items:
        if item.nodeid in full:
            item.add_marker("full")
        if item.get_closest_marker("asyncio") and SHARED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
    if not tiers.ALL and not _asks_for_more(config):
        out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    items.sort(key=lambda item: not item.nodeid.startswith(tiers.FIRST))


def _asks_for_more(config: pytest.Config) -> bool:
    """Return True if the command line names files, single tests or markers instead of folders."""
    return bool(config.option.markexpr) or any(
        not Path(argument.partition("::")[0]).is_dir() for argument in config.args
    )


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder that sandboxed jobs can enter; they cannot enter pytest's own temporary folders."""
    with open_folder() as path:
        yield path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fork_servers() -> AsyncIterator[NestedSandbox]:
    """The strong sandbox, nested like the daemon's. The tests of a module share its fork servers and its event loop."""
    async with nest() as box:
        yield box


@pytest.fixture
def sandbox(fork_servers: NestedSandbox) -> Sandbox:
    return fork_servers


@pytest.fixture
def judge(folder: Path, fork_servers: NestedSandbox) -> Judge:
    return Judge(folder / "staging", fork_servers)
