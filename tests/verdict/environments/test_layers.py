"""Layers of packages: made once, swept in time, and there only for the runs that may use them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.store import BUILT_WITHIN, IN_USE, KEEP
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.store import HandClock
from tests.support.trees import TextTree
from tests.support.wheelhouse import environ, wheel


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"}, needs=("tidewave>=1",))
    wheel(folder, "tidewave", "2.0", {"tidewave/__init__.py": "HIGH = 1\n"})
    return folder


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def layers(folder: Path, index: Path, clock: HandClock) -> LayerStore:
    return LayerStore(folder / "packages", runtime(), environ=environ(index), clock=clock)


def remove_index(index: Path) -> None:
    for path in index.iterdir():
        path.unlink()


async def test_a_layer_holds_the_packages_compiled_and_closed_to_change(layers: LayerStore) -> None:
    layer = await layers.satisfy(["moonphase"])
    assert layer.new
    assert layer.packages == {"moonphase": "1.0", "tidewave": "2.0"}
    assert list(layer.folder.glob("__pycache__/moonphase*.pyc"))
    for path in (layer.folder, *layer.folder.rglob("*")):
        status = path.stat()
        assert (status.st_uid, status.st_mode & 0o022) == (os.geteuid(), 0)
        assert status.st_mode & 0o004


async def test_the_same_question_gets_the_same_answer_without_the_index(
    layers: LayerStore, index: Path, folder: Path, clock: HandClock
) -> None:
    first = await layers.satisfy(["moonphase", "tidewave"])
    remove_index(index)
    again = await layers.satisfy(["tidewave", "moonphase"])
    assert (again.folder, again.wheels, again.new) == (first.folder, first.wheels, False)
    exact = await layers.exactly({"tidewave": "2.0", "moonphase": "1.0"})
    assert (exact.folder, exact.new) == (first.folder, False)
    later = LayerStore(folder / "packages", runtime(), environ=environ(index), clock=clock)
    assert (await later.exactly(first.packages)).folder == first.folder


async def test_versions_on_record_make_the_same_layer_anew(layers: LayerStore, folder: Path, index: Path) -> None:
    first = await layers.satisfy(["moonphase"])
    elsewhere = LayerStore(folder / "other", runtime(), environ=environ(index))
    again = await elsewhere.exactly(first.packages)
    assert again.new
    assert (again.folder.name, again.wheels) == (first.folder.name, first.wheels)


async def test_what_was_not_used_for_long_is_swept(
    layers: LayerStore, folder: Path, index: Path, clock: HandClock
) -> None:
    old, used = await layers.satisfy(["moonphase"]), await layers.satisfy(["tidewave"])
    clock.advance(KEEP.total_seconds() - 60)
    await layers.satisfy(["tidewave"])
    clock.advance(120)
    (half := folder / "packages" / ".half-built-1").mkdir()
    begun = (clock() - BUILT_WITHIN * 2).timestamp()
    os.utime(half, (begun, begun))
    (folder / "packages" / ".being-built-2").mkdir()
    LayerStore(folder / "packages", runtime(), environ=environ(index), clock=clock)
    assert not old.folder.exists()
    assert used.folder.exists()
    assert len(list((folder / "packages").iterdir())) == 4, "a layer, its note, its question, and what another builds"
    assert not half.exists()


async def test_what_would_run_by_itself_or_hide_the_standard_library_is_taken_out(
    layers: LayerStore, index: Path
) -> None:
    files = ("sly.py", "sly.pth", "sitecustomize.py", "usercustomize/__init__.py", "json.py", "asyncio/__init__.py")
    wheel(index, "sly", "1.0", dict.fromkeys(files, ""))
    layer = await layers.satisfy(["sly"])
    assert {path.name for path in layer.folder.iterdir()} == {"sly.py", "__pycache__", "sly-1.0.dist-info"}


async def test_of_too_much_what_was_used_longest_ago_goes_first(
    layers: LayerStore, index: Path, clock: HandClock
) -> None:
    old = await layers.satisfy(["tidewave"])
    clock.advance(86_400)
    young = await layers.satisfy(["moonphase"])
    layers.sweep(keep_mb=10)
    assert old.folder.exists()
    clock.advance(IN_USE.total_seconds() + 1)
    just_young = sum(path.lstat().st_blocks * 512 for path in young.folder.rglob("*") if path.is_file())
    layers.sweep(keep_mb=just_young / 2**20)
    assert (old.folder.exists(), young.folder.exists()) == (False, True)
    assert (await layers.satisfy(["tidewave"])).new


async def test_what_may_be_in_use_stays_however_much_it_is(layers: LayerStore) -> None:
    layer = await layers.satisfy(["tidewave"])
    layers.sweep(keep_mb=0)
    assert layer.folder.exists()


TESTS = {"test_moon.py": "from moon import full\n\n\ndef test_full():\n    assert full() == 1\n"}
CODE = {"moon.py": "import moonphase\n\n\ndef full():\n    return moonphase.FULL\n"}
Judging = Callable[..., Awaitable[Verdict]]


@pytest.fixture
def judge(folder: Path, layers: LayerStore) -> Judging:
    """Judge a change in a run with packages."""
    runner = SuiteRunner(bubblewrap(), runtime(), emit=lambda _: None, staging_dir=folder / "staging", layers=layers)

    async def run(code: Mapping[str, str], tests: Mapping[str, str], *names: str, **more: Any) -> Verdict:
        packages = (await layers.satisfy(names)).packages if names else {}
        fields = {"packages": packages, "limits": RunLimits(cpu_s=20), "whole_tree": False, **more}
        return await runner.judge(SuiteJob(base=TextTree(), change=code, given=tests, **fields))

    return run


async def test_a_package_is_there_for_the_run_that_may_use_it_and_for_no_other(judge: Judging) -> None:
    passed = await judge(CODE, TESTS, "moonphase")
    assert passed.passed, passed.reason
    without = await judge(CODE, TESTS)
    assert not without.passed
    assert "moonphase" in without.failures[0].message


async def test_self_written_tests_are_red_without_the_change_and_not_for_want_of_a_package(judge: Judging) -> None:
    honest = {"test_moon.py": "import moonphase\nfrom moon import full\n\n\ndef test_it():\n    assert full() == 1\n"}
    assert (await judge(CODE, {}, "moonphase", own=honest)).passed
    idle = {"test_moon.py": "import moonphase\n\n\ndef test_it():\n    assert moonphase.FULL == 1\n"}
    verdict = await judge(CODE, {}, "moonphase", own=idle)
    assert not verdict.passed
    assert verdict.weak == ("test_moon.py::test_it",)
