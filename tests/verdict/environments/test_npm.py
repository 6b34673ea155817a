"""npm environments: the packages that a lock file pins are installed, and tests find them.

No other package is fetched, run or linked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.code.environments import MadeEnvironment
from nightshift.core.isolation import WORK, RunLimits
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.change_checks import ChangeCheckJob
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.dependency_check import DependencyCheck
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.npm import NpmMaker
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.environments.wheels import Unreachable
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.shell import ShellRunner
from tests.support.npm_registry import NpmRegistry
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.store import HandClock
from tests.support.trees import TextTree

ODD = {"index.js": "module.exports = (n) => n % 2 === 1;\n"}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[NpmRegistry]:
    npm_registry = NpmRegistry(tmp_path)
    yield npm_registry
    npm_registry.close()


@pytest.fixture
def environments(folder: Path, registry: NpmRegistry) -> Environments:
    store = FolderStore(folder / "environments", keep_mb=100)
    return Environments(store, [NpmMaker(registry.environ)])


def tree(packages: Mapping[str, Any], **files: str) -> TextTree:
    lock = {"name": "mine", "lockfileVersion": 3, "packages": {"": {"name": "mine"}, **packages}}
    return TextTree({"package-lock.json": json.dumps(lock), "index.js": "", **files})


async def make(environments: Environments, base: TextTree) -> tuple[MadeEnvironment, Path]:
    (environment,) = (await environments.make(base, await environments.of(base))).new
    return environment, environments._store.path(environment.name) / "node_modules"


async def test_tests_find_what_the_lock_pins_as_commonjs_and_as_modules(
    folder: Path, registry: NpmRegistry, environments: Environments
) -> None:
    inner = registry.add("inner", "1.0.0", {"index.js": "module.exports = 'old';\n"})
    newer = registry.add("inner", "2.0.0", {"index.js": "module.exports = 'new';\n"})
    outer = registry.add("@my/outer", "1.0.0", {"index.js": "module.exports = require('inner');\n"})
    esm = registry.add("esm", "1.0.0", {"main.js": "export const deep = 7;\n"}, type="module", exports="./main.js")
    base = tree({
        "node_modules/inner": newer, "node_modules/@my/outer": outer, "node_modules/esm": esm,
        "node_modules/@my/outer/node_modules/inner": inner,
    })  # fmt: skip
    environment = await environments.of(base)
    runner = SuiteRunner(
        bubblewrap(), runtime(), emit=lambda _: None, staging_dir=folder / "staging", environments=environments
    )
    code = "const inner = require('inner');\nexports.all = () => [inner, require('@my/outer')].join();\n"
    tests = (
        "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { deep } from 'esm';\n"
        "import mine from './mine.js';\ntest('all', () => { assert.equal(mine.all(), 'new,old'); });\n"
        "test('deep', () => { assert.equal(deep, 7); });\n"
    )
    job = SuiteJob(
        base=base, change={"mine.js": code}, given={"mine.test.mjs": tests}, language=Language.JAVASCRIPT,
        limits=RunLimits(cpu_s=20), environment=environment.digest, whole_tree=False,
    )  # fmt: skip
    verdict = await runner.judge(job)
    assert verdict.passed, verdict
    assert environment.sources == ("package-lock.json",)


async def test_a_command_finds_programs_and_nothing_of_it_is_a_change(
    folder: Path, registry: NpmRegistry, environments: Environments
) -> None:
    tool = registry.add("tool", "1.0.0", {"cli.js": "#!/usr/bin/env node\nconsole.log('at work');\n"}, bin="./cli.js")
    base = tree({"node_modules/tool": tool})
    environment = await environments.of(base)
    shell = ShellRunner(bubblewrap(), runtime(), folder / "staging", environments=environments)
    command = "tool; touch /node_modules/tool/mine || echo read-only"
    result = await shell.execute(ShellJob(base=base, command=command, environment=environment.digest))
    assert result.output.splitlines()[0] == "at work", result
    assert "read-only" in result.output.splitlines()[-1]
    assert not result.files
    assert not result.dropped


async def test_no_script_of_a_package_runs(registry: NpmRegistry, environments: Environments, tmp_path: Path) -> None:
    proof = tmp_path / "it-ran"
    run = dict.fromkeys(("preinstall", "install", "postinstall", "prepare", "prepublish"), f"touch {proof}")
    bad = registry.add("bad", "1.0.0", {"binding.gyp": "{}"}, scripts=run)
    environment, there = await make(environments, tree({"node_modules/bad": {**bad, "hasInstallScript": True}}))
    assert (there / "bad" / "package.json").is_file()
    assert environment.packages == {"bad": "1.0.0"}
    assert not proof.exists()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"version": "git+ssh://git@host.example/a/b.git#abc"}, "is not a valid name and version"),
        ({"version": "1.0.0", "resolved": "file:../../etc"}, "does not come from a registry"),
        ({"version": "1.0.0", "integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}, "no strong hash"),
        ({"link": True, "resolved": "../../outside"}, "is a link to"),
        ({"version": "9.9.9"}, "is not in the registry"),
        ({"integrity": "sha512-" + "A" * 86 + "=="}, "does not match the hash in its lock"),
    ],
)
async def test_what_is_not_of_a_registry_is_left_out_and_told(
    registry: NpmRegistry, environments: Environments, entry: dict[str, Any], why: str
) -> None:
    good, bad = registry.add("good", "1.0.0", ODD), registry.add("bad", "1.0.0", ODD)
    wanted = {**bad, **entry}
    if "resolved" not in entry:
        del wanted["resolved"]
    environment, there = await make(environments, tree({"node_modules/good": good, "node_modules/bad": wanted}))
    assert any(why in remark and "bad" in remark for remark in environment.remarks), environment.remarks
    assert (there / "good" / "index.js").is_file()
    assert not (there / "bad").exists()
    assert environment.packages == {"good": "1.0.0"}


async def test_programs_are_files_of_their_package_and_take_no_name_of_the_system(
    registry: NpmRegistry, environments: Environments
) -> None:
    programs = {"out": "../../../../etc/passwd", "abs": "/etc/passwd", "node": "a.js", "bash": "a.js", "../up": "a.js",
                "../../fine": "./a.js", "none": "b.js"}  # fmt: skip
    bad = registry.add("bad", "1.0.0", {"a.js": "1\n"}, bin=programs)
    _, there = await make(environments, tree({"node_modules/bad": bad}))
    assert {path.name: str(path.readlink()) for path in (there / ".bin").iterdir()} == {
        "fine": "../bad/a.js", "up": "../bad/a.js",
    }  # fmt: skip


async def test_places_and_settings_of_the_repository_lead_nowhere(
    registry: NpmRegistry, environments: Environments, folder: Path
) -> None:
    good = registry.add("good", "1.0.0", ODD)
    base = tree(
        {
            "node_modules/good": good, "../../outside/node_modules/good": good, "node_modules/../../good": good,
            "node_modules/.bin": good,
        },
        **{".npmrc": "registry=http://127.0.0.1:9/\nignore-scripts=false\n"},
    )  # fmt: skip
    environment, there = await make(environments, base)
    assert sorted(path.name for path in there.iterdir()) == [".bin", ".package-lock.json", "good"], environment.remarks
    assert set(registry.asked) <= {"good", "good/-/good-1.0.0.tgz"}


async def test_a_registry_that_does_not_answer_leaves_nothing(folder: Path, registry: NpmRegistry) -> None:
    environ = {**registry.environ, "npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
    environments = Environments(FolderStore(folder / "environments", keep_mb=100), [NpmMaker(environ)])
    base = tree({"node_modules/good": registry.add("good", "1.0.0", ODD)})
    with pytest.raises(Unreachable):
        await environments.make(base, await environments.of(base))
    assert environments.list_parts() == []


async def test_a_lock_that_cannot_be_used_says_so_and_nothing_is_shown(environments: Environments) -> None:
    base = TextTree({"yarn.lock": "__metadata:\n  version: 8\n", "index.js": ""})
    environment = await environments.of(base)
    (new_environment,) = (await environments.make(base, environment)).new
    assert "yarn 2 or newer" in new_environment.remarks[0]
    assert await environments.runtime_for(runtime(), base, environment.digest) == runtime()


@pytest.mark.parametrize(
    "root",
    [
        {"package.json": '{"workspaces": ["packages/*"]}'},
        {"pnpm-workspace.yaml": "packages:\n  - packages/**\n", "package.json": "{}"},
    ],
)
async def test_members_of_a_workspace_are_links_also_where_no_lock_names_them(
    environments: Environments, root: dict[str, str]
) -> None:
    member = {"packages/a/package.json": '{"name": "@my/a"}', "packages/a/index.js": "", "b/package.json": "{}"}
    _, there = await make(environments, TextTree({**root, **member}))
    assert sorted(path.name for path in there.iterdir()) == [".bin", "@my"]
    assert (there / "@my" / "a").readlink() == Path(f"{WORK}/packages/a")


async def test_what_the_lock_has_may_be_imported_by_a_change(
    folder: Path, registry: NpmRegistry, environments: Environments, tmp_path: Path
) -> None:
    base = tree({"node_modules/odd": registry.add("odd", "1.0.0", ODD)})
    environment = await environments.of(base)
    layers = LayerStore(folder / "packages", runtime(), environ={"PIP_NO_INDEX": "1"})
    check = DependencyCheck(
        layers, runtime(), allowed=(), emit=lambda _: None, clock=HandClock(), environments=environments
    )
    spec = parse_spec({"description": "x", "language": "javascript"})
    change = {"mine.js": "require('odd');\nrequire('even');\n"}
    job = ChangeCheckJob(spec=spec, tree=base, change=change, task_id=7, environment=environment.digest)
    findings = (await check.examine(job)).findings
    assert [(finding.rule, finding.line) for finding in findings] == [("package.npm", 2)]


def manifest(**groups: dict[str, str]) -> str:
    return json.dumps({"name": "mine", **groups})


async def test_without_a_lock_npm_chooses_the_versions_that_package_json_allows(
    registry: NpmRegistry, environments: Environments
) -> None:
    for version in ("1.0.0", "1.4.0", "2.0.0"):
        registry.add("deep", version, ODD)
    registry.add("odd", "3.1.0", ODD, dependencies={"deep": "2.x"}, peerDependencies={"peer": "*"})
    registry.add("peer", "5.0.0", ODD)
    groups = {"dependencies": {"deep": "^1.0.0"}, "devDependencies": {"odd": "latest", "kin": "npm:peer@5"}}
    base = TextTree({"package.json": manifest(**groups), "index.js": ""})
    environment, there = await make(environments, base)
    assert environment.packages == {"deep": "1.4.0", "odd": "3.1.0", "peer": "5.0.0", "kin": "5.0.0"}
    assert json.loads((there / "odd" / "node_modules" / "deep" / "package.json").read_text())["version"] == "2.0.0"
    assert environment.sources == ("package.json",)
    assert not environment.remarks


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("git+ssh://git@host.example/a/b.git", "does not come from a registry"),
        ("owner/name", "does not come from a registry"),
        ("file:../outside", "does not come from a registry"),
        ("https://host.example/bad.tgz", "does not come from a registry"),
        ("npm:owner/name@1", "does not come from a registry"),
        ("^9.0.0", "is not in the registry"),
    ],
)
async def test_without_a_lock_what_is_not_of_a_registry_is_left_out_and_told(
    registry: NpmRegistry, environments: Environments, version: str, why: str
) -> None:
    for name in ("good", "bad"):
        registry.add(name, "1.0.0", ODD)
    wanted = {"good": "*", "bad": version, "missing": "1.x"}
    base = TextTree({"package.json": manifest(dependencies=wanted), "index.js": ""})
    environment, _ = await make(environments, base)
    assert environment.packages == {"good": "1.0.0"}, environment.remarks
    assert {remark.partition(" ")[0]: why in remark for remark in environment.remarks}["bad"], environment.remarks
    assert any("missing 1.x is not in the registry" in remark for remark in environment.remarks)


async def test_without_a_lock_the_packages_of_members_are_installed_too(
    registry: NpmRegistry, environments: Environments
) -> None:
    registry.add("odd", "1.0.0", ODD)
    member = {"name": "a", "dependencies": {"odd": "1", "b": "workspace:*"}}
    base = TextTree({
        "package.json": '{"workspaces": ["packages/*"]}', "packages/a/package.json": json.dumps(member),
        "packages/b/package.json": '{"name": "b"}', "packages/a/index.js": "",
    })  # fmt: skip
    environment, there = await make(environments, base)
    assert sorted(path.name for path in there.iterdir() if path.name[0] != ".") == ["a", "b", "odd"]
    assert not environment.remarks


def test_without_a_lock_a_project_in_a_folder_has_the_packages_of_the_root(registry: NpmRegistry) -> None:
    base = TextTree({"package.json": manifest(dependencies={"odd": "1"}), "web/a.js": "", "b.js": ""})
    recipe = NpmMaker(registry.environ).recipe(DeclaredFiles(Scope(project="web").of(base)))
    assert recipe is not None
    assert list(recipe.texts) == ["package.json"]


def test_a_tree_without_javascript_or_without_packages_has_no_environment(registry: NpmRegistry) -> None:
    maker = NpmMaker(registry.environ)
    wanted = manifest(dependencies={"odd": "1"})
    for files in (
        {"package-lock.json": "{}", "a.py": ""}, {"package.json": wanted, "a.py": ""}, {"a.js": ""},
        {"package.json": manifest(), "a.js": ""}, {"package.json": "not JSON", "a.js": ""},
    ):  # fmt: skip
        assert maker.recipe(DeclaredFiles(TextTree(files))) is None
