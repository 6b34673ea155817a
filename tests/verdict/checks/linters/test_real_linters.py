"""Linters as gates, except ruff and mypy: real programs from wheels, npm lock files and a Go toolchain."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nightshift.core.isolation import RUN_LIMITS
from nightshift.core.tasks.change_checks import ChangeCheckJob, Finding
from nightshift.core.tasks.task import Lint, TaskSpec
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.checks.linters.check import LinterCheck
from nightshift.verdict.checks.policy import Policy
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.npm import NpmMaker
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.shell import ShellRunner
from tests.support import golang
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.trees import TextTree


async def find(
    folder: Path, base: Mapping[str, str], change: Mapping[str, str], inside: Runtime
) -> list[tuple[str, str, int, str]]:
    """Lint a change of a tree in the environment that the tree declares; wheels come from the index."""
    environments = Environments(FolderStore(folder / "environments", keep_mb=500), [NpmMaker(os.environ)])
    layers = LayerStore(folder / "packages", inside, environ=os.environ)
    shell = ShellRunner(bubblewrap(), inside, folder / "staging", layers=layers, environments=environments)

    async def fetch(requirement: str) -> Mapping[str, str]:
        return (await layers.satisfy([requirement])).packages

    check = LinterCheck(shell, Policy.read({}, {}, []), limits=RUN_LIMITS, fetch=fetch)
    tree = TextTree(base)
    digest = (await environments.of(tree)).digest
    job = ChangeCheckJob(
        spec=TaskSpec(description="x", lint=Lint.REQUIRED), tree=tree, change=change, environment=digest
    )
    return [describe(each) for each in (await check.examine(job)).findings]


def describe(finding: Finding) -> tuple[str, str, int, str]:
    assert finding.severity.value == "block", finding
    return finding.rule, finding.path, finding.line, finding.message


def make_lock(folder: Path, **packages: str) -> dict[str, str]:
    """Return a manifest, and the lock file that npm writes for it."""
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"name": "shop", "version": "1.0.0", "devDependencies": packages}))
    words = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return {name: (folder / name).read_text() for name in ("package.json", "package-lock.json")}


async def test_eslint_of_a_lock_file_finds_what_a_change_brings(folder: Path, tmp_path: Path) -> None:
    lock = await asyncio.to_thread(make_lock, tmp_path / "lock", eslint="9.17.0")
    rules = "export default [{rules: {'no-var': 'error', 'no-undef': 'error', 'no-debugger': 'warn'}}];\n"
    base = {**lock, "eslint.config.mjs": rules, "a.mjs": "var old = 1;\nexport default old;\n"}
    change = {
        "a.mjs": "var old = 1;\nexport default old;\nvar mine = 2;\nexport { mine };\n",
        "b.mjs": "debugger;\nexport const two = unknown + 1;\n",
        "eslint.config.mjs": "export default [];\n",
    }
    assert await find(folder, base, change, runtime()) == [
        ("eslint.no-var", "a.mjs", 3, "Unexpected var, use let or const instead."),
        ("eslint.no-undef", "b.mjs", 2, "'unknown' is not defined."),
    ]


async def test_the_type_checker_of_a_lock_file_finds_what_a_change_brings(folder: Path, tmp_path: Path) -> None:
    lock = await asyncio.to_thread(make_lock, tmp_path / "lock", typescript="5.9.3")
    options = '{"compilerOptions": {"strict": true}, "include": ["src"]}'
    base = {**lock, "tsconfig.json": options, "src/old.ts": "export const old: number = 'one';\n"}
    change = {"src/new.ts": "import { old } from './old';\nexport const mine: string = old;\n"}
    ((rule, path, line, _),) = await find(folder, base, change, runtime())
    assert (rule, path, line) == ("tsc.TS2322", "src/new.ts", 2)


async def test_gofmt_and_go_vet_find_what_a_change_brings(folder: Path) -> None:
    base = {"go.mod": "module shop\n\ngo 1.18\n", "old.go": "package shop\n\nfunc  Old() int { return 1 }\n"}
    text = 'package shop\n\nimport "fmt"\n\nfunc New() string {\nreturn fmt.Sprintf("%d", "a")\n}\n'
    assert sorted(await find(folder, base, {"new.go": text}, golang.runtime())) == [
        ("gofmt", "new.go", 6, 'gofmt writes it as `\\treturn fmt.Sprintf("%d", "a")`'),
        ("govet", "new.go", 6, 'fmt.Sprintf format %d has arg "a" of wrong type string'),
    ]
