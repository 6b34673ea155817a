"""Go modules from a proxy that is a folder: fetched once, checked against `go.sum`, and used in offline builds."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.environments.go_modules import GoModules
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.runner import SuiteRunner
from tests.support import golang
from tests.support.sandboxes import bubblewrap
from tests.support.trees import TextTree

NAME, VERSION = "example.org/Dep", "v1.2.3"
FILES = {
    "go.mod": f"module {NAME}\n\ngo 1.18\n",
    "dep.go": "package dep\n\nfunc Twice(n int) int {\n\treturn 2 * n\n}\n",
}
MOD = f"module example.org/main\n\ngo 1.18\n\nrequire {NAME} {VERSION}\n"
CODE = 'package main\n\nimport dep "example.org/Dep"\n\nfunc Four() int {\n\treturn dep.Twice(2)\n}\n\nfunc main() {}\n'
TEST = """package main

import "testing"

func TestFour(t *testing.T) {
	if got := Four(); got != 4 {
		t.Errorf("got %d", got)
	}
}
"""


def digest(files: dict[str, str]) -> str:
    """Return the digest for `go.sum`: a digest over the digests and names of all files."""
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def sums() -> str:
    module_digest = digest({f"{NAME}@{VERSION}/{name}": text for name, text in FILES.items()})
    return f"{NAME} {VERSION} {module_digest}\n{NAME} {VERSION}/go.mod {digest({'go.mod': FILES['go.mod']})}\n"


@pytest.fixture
def proxy(tmp_path: Path) -> Path:
    folder = tmp_path / "proxy" / "example.org" / "!dep" / "@v"
    folder.mkdir(parents=True)
    (folder / "list").write_text(f"{VERSION}\n")
    (folder / f"{VERSION}.info").write_text(f'{{"Version": "{VERSION}", "Time": "2026-01-01T00:00:00Z"}}')
    (folder / f"{VERSION}.mod").write_text(FILES["go.mod"])
    with zipfile.ZipFile(folder / f"{VERSION}.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"{NAME}@{VERSION}/{name}", text)
    return tmp_path / "proxy"


def environments(folder: Path, proxy: Path) -> Environments:
    maker = GoModules(golang.runtime().go, {"GOPROXY": f"file://{proxy},direct"})
    return Environments(FolderStore(folder / "environments", keep_mb=100), [maker])


async def test_modules_are_fetched_once_and_built_with_offline(folder: Path, proxy: Path) -> None:
    tree, environment_store = TextTree({"go.mod": MOD, "go.sum": sums()}), environments(folder, proxy)
    environment = await environment_store.of(tree)
    assert environment.sources == ("go.mod", "go.sum")
    (new_environment,) = (await environment_store.make(tree, environment)).new
    assert dict(new_environment.packages) == {NAME: VERSION}
    assert new_environment.interpreter == f"Go {golang.runtime().go.version}"  # type: ignore[union-attr]
    assert (await environment_store.make(tree, environment)).new == ()
    runner = SuiteRunner(
        bubblewrap(),
        golang.runtime(),
        emit=lambda _event: None,
        staging_dir=folder / "staging",
        environments=environment_store,
    )
    job = SuiteJob(
        base=tree, change={"main.go": CODE}, given={"main_test.go": TEST}, language=Language.GO,
        limits=RunLimits(cpu_s=60), environment=environment.digest,
    )  # fmt: skip
    verdict = await runner.judge(job)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"


async def test_a_module_that_is_not_the_one_of_go_sum_makes_no_environment(folder: Path, proxy: Path) -> None:
    with zipfile.ZipFile(proxy / "example.org" / "!dep" / "@v" / f"{VERSION}.zip", "a") as archive:
        archive.writestr(f"{NAME}@{VERSION}/evil.go", "package dep\n\nfunc init() {}\n")
    tree, environment_store = TextTree({"go.mod": MOD, "go.sum": sums()}), environments(folder, proxy)
    with pytest.raises(SandboxError, match="checksum mismatch"):
        await environment_store.make(tree, await environment_store.of(tree))
    assert not environment_store.list_parts()


async def test_what_declares_no_modules_has_no_environment(folder: Path, proxy: Path) -> None:
    for files in ({"go.mod": MOD}, {"go.mod": MOD, "go.sum": "", "vendor/modules.txt": "# none\n"}):
        assert not (await environments(folder, proxy).of(TextTree(files))).digest
