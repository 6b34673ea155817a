from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.making import Environments, Made, Recipe, runtime_of
from nightshift.verdict.environments.store import FolderStore
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree

ROOT = Path(__file__).resolve().parents[3]


class Copying:
    """An environment maker that writes the text of `needs.lock` into a folder."""

    def __init__(self, wait_s: float = 0.0, name: str = "needs.lock") -> None:
        self.filled, self._wait_s, self._name = 0, wait_s, name

    @property
    def kind(self) -> str:
        return "copy" if self._name == "needs.lock" else "other"

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        folder = files.nearest((self._name,))
        text = None if folder is None else files.text(f"{folder}{self._name}")
        return None if text is None else Recipe(kind=self.kind, texts={f"{folder}{self._name}": text})

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        self.filled += 1
        (text,) = recipe.texts.values()
        (folder / "needs").write_text(text)
        await asyncio.sleep(self._wait_s)
        if text == "impossible":
            raise SandboxError("it cannot be made")
        return Made(packages={"needs": text}, remarks=("nothing left out",))

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:
        return replace(runtime, mounts=(*runtime.mounts, Mount(host=folder, inside="/opt/needs")))


def environments(folder: Path, maker: Copying | None = None) -> Environments:
    return Environments(FolderStore(folder / "environments", keep_mb=100), [maker or Copying()])


async def test_the_same_declarations_have_the_same_environment_and_others_another(folder: Path) -> None:
    store = environments(folder)
    first, second, other, none = [
        (await store.of(TextTree({"code.py": code, **({"needs.lock": lock} if lock else {})}))).digest
        for lock, code in (("1", "X = 1\n"), ("1", "X = 2\n"), ("2", ""), ("", "X = 1\n"))
    ]
    assert first == second != other
    assert not none


async def test_a_made_environment_is_shown_read_only_and_told_of(folder: Path) -> None:
    environment_store, tree = environments(folder), TextTree({"needs.lock": "1"})
    environment = await environment_store.of(tree)
    (new_environment,) = (await environment_store.make(tree, environment)).new
    assert (new_environment.kind, new_environment.sources, new_environment.packages, new_environment.remarks) == (
        "copy", ("needs.lock",), {"needs": "1"}, ("nothing left out",),
    )  # fmt: skip
    assert (await environment_store.make(tree, environment)).new == ()
    job = SuiteJob(base=tree, change={"needs.lock": "2"}, environment=environment.digest)
    shown = await runtime_of(runtime(), job, layers=None, environments=environment_store)
    assert (shown.mounts[-1].host / "needs").read_text() == "1", "what a change declares is no part of it"
    assert (shown.mounts[-1].host / "needs").stat().st_mode & 0o022 == 0


async def test_two_that_need_the_same_new_environment_make_it_once(folder: Path) -> None:
    shared_maker, other_maker, tree = Copying(0.3), Copying(0.3), TextTree({"needs.lock": "1"})
    stores = [environments(folder, maker) for maker in (shared_maker, shared_maker, other_maker)]
    digest = (await stores[0].of(tree)).digest
    shown = await asyncio.gather(*(store.runtime_for(runtime(), tree, digest) for store in (*stores, *stores)))
    assert shared_maker.filled + other_maker.filled == 1
    assert len({each.mounts[-1].host for each in shown}) == 1


async def test_one_that_cannot_be_made_leaves_nothing_and_is_tried_again(folder: Path) -> None:
    maker, tree = Copying(), TextTree({"needs.lock": "impossible"})
    environment_store = environments(folder, maker)
    for _ in range(2):
        with pytest.raises(SandboxError, match="cannot be made"):
            await environment_store.runtime_for(runtime(), tree, (await environment_store.of(tree)).digest)
    assert maker.filled == 2
    assert list((folder / "environments").iterdir()) == []


async def test_a_part_that_cannot_be_made_leaves_the_others(folder: Path) -> None:
    store = FolderStore(folder / "environments", keep_mb=100)
    environment_store = Environments(store, [Copying(), Copying(name="tools.lock")])
    tree = TextTree({"needs.lock": "impossible", "tools.lock": "1"})
    full_environment = await environment_store.of(tree)
    making = await environment_store.make(tree, full_environment)
    assert making.failed == ("needs.lock: it cannot be made",)
    assert [new_environment.sources for new_environment in making.new] == [("tools.lock",)]
    left = making.environment
    assert (left.sources, left.digest != full_environment.digest) == (("tools.lock",), True)
    shown = await environment_store.runtime_for(runtime(), tree, left.digest)
    assert (shown.mounts[-1].host / "needs").read_text() == "1"
    assert await environment_store.declares(tree, left.digest)
    assert await environment_store.declares(tree, full_environment.digest)
    assert not await environment_store.declares(TextTree({"tools.lock": "2"}), left.digest)
    alone = TextTree({"needs.lock": "impossible"})
    with pytest.raises(SandboxError, match="cannot be made"):
        await environment_store.make(alone, await environment_store.of(alone))


async def test_an_environment_of_another_tree_is_refused(folder: Path) -> None:
    environment_store = environments(folder)
    digest = (await environment_store.of(TextTree({"needs.lock": "1"}))).digest
    with pytest.raises(SandboxError, match="the tree does not declare environment"):
        await environment_store.runtime_for(runtime(), TextTree({"needs.lock": "2"}), digest)
    job = SuiteJob(base=TextTree({}), change={}, environment=digest)
    with pytest.raises(SandboxError, match="no environment store"):
        await runtime_of(runtime(), job, layers=None, environments=None)


async def test_what_a_killed_maker_left_is_never_used(folder: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from tests.verdict.environments.test_making import *\n"
        "found, tree = environments(Path(sys.argv[1]), Copying(60)), TextTree({'needs.lock': '1'})\n"
        "async def main(): await found.make(tree, await found.of(tree))\n"
        "asyncio.run(main())\n"
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(folder), cwd=ROOT)
    store_folder = folder / "environments"
    while not list(store_folder.glob(".copy-*/needs")):
        assert killed.returncode is None
        await asyncio.sleep(0.05)
    killed.kill()
    await killed.wait()
    assert list(store_folder.glob(".copy-*/needs")), "half of it is there"
    maker, tree = Copying(), TextTree({"needs.lock": "1"})
    environment_store = environments(folder, maker)
    assert environment_store.list_parts() == []
    shown = await environment_store.runtime_for(runtime(), tree, (await environment_store.of(tree)).digest)
    assert maker.filled == 1
    assert (shown.mounts[-1].host / "needs").read_text() == "1"
    assert {path.name.partition("-")[0] for path in store_folder.iterdir()} == {"copy"}, "the half of it is gone"


def test_the_nearest_folder_that_declares_something_counts() -> None:
    both = TextTree({"shop/README.md": "", "shop/requirements.txt": "", "shop/needs.lock": "1", "needs.lock": "2"})
    shop = Scope(project="shop").of(both)
    assert DeclaredFiles(shop).nearest(("needs.lock",)) == "shop/"
    assert DeclaredFiles(shop, {"needs.lock": "3"}).text("shop/needs.lock") == "3"
    above = TextTree({"shop/README.md": "", "shop/requirements.txt": "", "needs.lock": "2"})
    assert DeclaredFiles(Scope(project="shop").of(above)).nearest(("needs.lock",)) == ""
    assert DeclaredFiles(TextTree({"backend/needs.lock": "1", "ui/x.py": ""})).nearest(("needs.lock",)) == "backend/"
    assert DeclaredFiles(TextTree({"a/needs.lock": "1", "b/needs.lock": ""})).nearest(("needs.lock",)) is None
