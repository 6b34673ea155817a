"""Files that setup scripts leave for later runs, with real scripts, the real sandbox and a package index over HTTP."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.environments.making import runtime_of
from nightshift.verdict.environments.store import notes_in
from tests.support.package_index import PackageIndex
from tests.support.processes import alive
from tests.support.sandboxes import runtime
from tests.support.setups import SCRIPT, build_left, run_in, setups, tree
from tests.support.trees import TextTree


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    with PackageIndex(tmp_path / "index") as served:
        served.add("moonphase", "1.0", {
            "moonphase.py": "def main():\n    print('full')\n",
            "moonphase-1.0.dist-info/entry_points.txt": "[console_scripts]\nmoon = moonphase:main\n",
        })  # fmt: skip
        yield served


async def test_what_a_script_installs_is_there_for_later_runs_which_have_no_network(
    folder: Path, index: PackageIndex
) -> None:
    environments = setups(folder, index.environ)
    base = tree("set -e\npip install -q moonphase\nmkdir -p /env/data && echo 7 > /env/data/seven")
    shown = await build_left(environments, base)
    (environment,) = environments.list_parts()
    assert (environment.kind, environment.packages, environment.remarks) == ("setup", {"moonphase": "1.0"}, ())
    asked = len(index.asked)
    code = (
        "import moonphase, socket, subprocess\n"
        "moonphase.main()\n"
        "print(subprocess.run(['moon'], capture_output=True, text=True).stdout, open('/env/data/seven').read())\n"
        "for path in ('/env/data/seven', '/env/new'):\n"
        "    try:\n        open(path, 'w')\n    except OSError as error:\n        print(error.errno)\n"
        f"try:\n    socket.create_connection(('127.0.0.1', {index.port}))\nexcept OSError:\n    print('alone')\n"
    )
    result = await run_in(shown, code)
    assert result.stdout.decode().split() == ["full", "full", "7", "30", "30", "alone"], result.stderr
    again = await build_left(setups(folder, index.environ), base)
    assert again.mounts == shown.mounts
    assert len(index.asked) == asked, "the second run asks nobody"


async def test_a_script_and_a_lists_of_wheels_make_one_environment(folder: Path, index: PackageIndex) -> None:
    index.add("tidewave", "2.0", {"tidewave.py": "LEVEL = 2\n"})
    environments = setups(folder, index.environ, with_python=True)
    base = TextTree({SCRIPT: "pip install -q moonphase\n", "requirements.txt": "tidewave==2.0\n"})
    shown = await build_left(environments, base)
    code = (
        "import moonphase, tidewave, sys, subprocess\nprint(tidewave.LEVEL)\n"
        "subprocess.run([sys.executable, '-c', 'import moonphase'], check=True)"
    )
    result = await run_in(shown, code)
    assert (result.exit_code, result.stdout) == (0, b"2\n"), result.stderr
    job = SuiteJob(base=base, change={}, environment=(await environments.of(base)).digest)
    assert (await runtime_of(runtime(), job, layers=None, environments=environments)).mounts == shown.mounts
    assert await environments.modules(base, job.environment) >= {"moonphase", "tidewave"}


async def test_the_repositorys_own_package_is_read_from_its_files_and_never_a_copy(
    folder: Path, index: PackageIndex
) -> None:
    script = (
        "set -e\nsite=$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')\n"
        "mkdir $site/mine-1.dist-info $site/mine && cp mine/__init__.py $site/mine\n"
        'echo \'{"url": "file:///work", "dir_info": {"editable": true}}\' > $site/mine-1.dist-info/direct_url.json\n'
        "printf 'mine/__init__.py,,\\n../../../../work/mine/__init__.py,,\\n' > $site/mine-1.dist-info/RECORD\n"
        "mkdir $site/other && echo > $site/other/__init__.py\n"
        "echo /work > $site/__editable__.mine.pth\n"
    )
    base = TextTree({SCRIPT: script, "mine/__init__.py": "OLD = 1\n", "src/other/__init__.py": "OLD = 1\n"})
    environments = setups(folder, index.environ)
    await build_left(environments, base)
    (environment,) = environments.list_parts()
    assert environment.packages == {}
    (remark,) = environment.remarks
    assert all(name in remark for name in ("mine", "mine-1.dist-info", "other", "__editable__.mine.pth"))
    left = [path.name for path in (folder / "environments" / environment.name / "env").rglob("*")]
    assert not {"mine", "other", "__editable__.mine.pth", "mine-1.dist-info"} & set(left)


async def test_a_script_that_fails_says_why_and_leaves_nothing(folder: Path, index: PackageIndex) -> None:
    environments = setups(folder, index.environ)
    base = tree("echo about to fail; curl -s http://127.0.0.1:9/; apt-get install -y jq && exit 0; exit 3")
    with pytest.raises(SandboxError) as failed:
        await build_left(environments, base)
    text = str(failed.value)
    assert all(word in text for word in ("ended with 3", "about to fail", "127.0.0.1:9", "does not run as root"))
    assert [path.name for path in (folder / "environments").iterdir()] == []


async def test_one_that_was_killed_is_made_again_and_nothing_of_it_is_used(folder: Path, index: PackageIndex) -> None:
    mark = f"32{secrets.randbelow(10**6):06}"
    environments, base = setups(folder, index.environ), tree(f"echo half > /env/half; sleep {mark}")
    making = asyncio.create_task(build_left(environments, base))
    store_folder = folder / "environments"
    while not [*store_folder.glob(".*/run/env/half")]:
        await asyncio.sleep(0.05)
        assert not making.done(), making.exception()
    making.cancel()
    await asyncio.gather(making, return_exceptions=True)
    assert not alive(mark)
    assert not [path for path in store_folder.iterdir() if path.is_dir()]
    leftover = store_folder / f".{(await environments._recipes(base))[0].name}-1"
    (leftover / "run").mkdir(parents=True)
    assert await build_left(environments, tree("true"))
    assert [each.name for each in notes_in(store_folder)] == [each.name for each in environments.list_parts()]


async def test_without_consent_no_script_runs_and_it_is_no_part_of_the_environment(
    folder: Path, index: PackageIndex
) -> None:
    base = TextTree({SCRIPT: "echo ran > /env/ran\n", "requirements.txt": "moonphase==1.0\n"})
    willing = setups(folder, index.environ, with_python=True)
    unwilling = setups(folder, index.environ, agreed=lambda _digest: False, with_python=True)
    full_environment, partial_environment = await willing.of(base), await unwilling.of(base)
    assert full_environment.unasked is None
    assert partial_environment.unasked
    assert (partial_environment.unasked.path, partial_environment.unasked.text) == (SCRIPT, "echo ran > /env/ran\n")
    assert SCRIPT in full_environment.sources
    assert partial_environment.sources == ("requirements.txt",)
    with pytest.raises(SandboxError, match="has not approved"):
        await unwilling.runtime_for(runtime(), base, full_environment.digest)
    assert not list((folder / "environments").glob("setup-*"))
    assert (await unwilling.make(base, partial_environment)).failed == ()
