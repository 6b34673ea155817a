"""A model's commands in every isolation: what they see, what they return, and what they cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, RunLimits
from nightshift.core.shell import ShellJob, ShellResult
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.shell import ShellRunner
from tests.support.processes import alive, mark
from tests.support.sandboxes import ISOLATIONS, bubblewrap, open_it, runtime
from tests.support.trees import TextTree
from tests.support.wheelhouse import environ, wheel

LIMITS = RunLimits(memory_mb=256, pids=64)
TREE = {"a.py": "A = 1\n", "docs/b.txt": "b\n", "docs/c.txt": "c\n", "src/lib.py": "LIB = 1\n"}


class Commands:
    """Executes commands on a small tree."""

    def __init__(self, runner: ShellRunner) -> None:
        self.runner = runner

    async def __call__(self, command: str, base: Mapping[str, str] | None = None, **more: Any) -> ShellResult:
        job = ShellJob(command=command, base=TextTree(TREE if base is None else base), limits=LIMITS)
        return await self.runner.execute(replace(job, **more))


@pytest.fixture(params=ISOLATIONS)
async def run(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Commands]:
    (jobs := folder / "jobs").mkdir(mode=0o755)
    async with open_it(request.param, jobs) as box:
        yield Commands(ShellRunner(box, runtime(), folder / "staging"))


@pytest.fixture
def strong(folder: Path) -> Commands:
    return Commands(ShellRunner(bubblewrap(), runtime(), folder / "staging"))


async def test_output_and_errors_come_back_in_their_order_with_the_status(run: Commands) -> None:
    result = await run("echo one; echo two >&2; echo three; cd docs; cat b.txt; exit 3")
    assert (result.output, result.exit_code, result.ended) == ("one\ntwo\nthree\nb\n", 3, Ended.EXITED)
    assert (result.files, result.dropped) == ({}, {})


async def test_what_was_done_to_text_files_comes_back(strong: Commands) -> None:
    command = """
        echo 'A = 2' > a.py; rm docs/b.txt; mkdir -p new/deep; printf 'ä\\r\\n' > new/deep/file.txt
        touch docs/c.txt; chmod +x src/lib.py; mv src/lib.py src/moved.py
    """
    result = await strong(
        command, change={"docs/b.txt": "changed\n", "docs/d.txt": "d\n"}, tests={"test_x.py": "x = 1\n"}
    )
    assert result.files == {
        "a.py": "A = 2\n", "docs/b.txt": None, "new/deep/file.txt": "ä\r\n",
        "src/lib.py": None, "src/moved.py": "LIB = 1\n",
    }  # fmt: skip
    assert result.dropped == {}


async def test_a_command_sees_base_change_and_tests_and_no_git(strong: Commands) -> None:
    command = "find . -type f | sort; cat a.py; git status >/dev/null 2>&1 || echo none"
    result = await strong(
        command, change={"a.py": "A = 3\n", "docs/b.txt": None}, tests={"tests/test_a.py": "import a\n"}
    )
    assert result.output == "./a.py\n./docs/c.txt\n./src/lib.py\n./tests/test_a.py\nA = 3\nnone\n"


async def test_by_products_are_passed_over_and_what_does_not_count_is_named(strong: Commands) -> None:
    by_products = """
        for name in __pycache__ .pytest_cache .hypothesis node_modules .mypy_cache .ruff_cache x.egg-info; do
            mkdir -p $name docs/$name; echo x > $name/file; echo x > docs/$name/file
        done
        echo x > old.pyc
    """
    quiet = await strong(by_products)
    assert (quiet.files, quiet.dropped) == ({}, {})
    others = """
        printf '\\377\\376' > binary; printf 'a\\0b' > zero; head -c 1048577 /dev/zero | tr '\\0' x > large
        ln -s /etc/passwd link; rm a.py; ln -s docs/b.txt a.py; python -c 'import os; os.mkfifo("pipe")'
        mkdir .git; echo x > .git/config; echo ok > fine.txt
    """
    result = await strong(others)
    assert result.files == {"binary": "\udcff\udcfe", "fine.txt": "ok\n"}, "bytes of any encoding come back"
    assert result.dropped == {
        ".git": "belongs to git", "a.py": "is a symbolic link",
        "large": "is larger than 1 MB", "link": "is a symbolic link", "pipe": "is no regular file",
        "zero": "is no text",
    }  # fmt: skip


async def test_new_files_that_the_repository_ignores_are_no_part_of_what_comes_back(strong: Commands) -> None:
    command = """
        mkdir -p dist web/out; echo x > dist/app.js; echo x > web/out/a; echo KEY=1 > .env; echo y > held.log
        echo z > new.py; echo "*.tmp" >> .gitignore; echo x > a.tmp; echo w > given.log
    """
    base = {".gitignore": "dist/\n.env\n*.log\n", "web/.gitignore": "out\n", "held.log": "x\n"}
    result = await strong(command, base, change={"given.log": "v\n"})
    assert sorted(result.files) == [".gitignore", "given.log", "held.log", "new.py"]
    assert result.dropped == dict.fromkeys((".env", "a.tmp", "dist/app.js", "web/out/a"), "is ignored by .gitignore")


async def test_files_that_no_change_may_have_are_named_and_left_out(strong: Commands) -> None:
    command = (
        "echo x > aux.py; echo x > -f; mkdir x; echo x > x/.gitmodules; echo x > $(printf 'a\\033[31m'); "
        "echo x > $(printf 'b\\377'); mkdir sub; echo x > sub/file; echo x > good.py"
    )

    class Linked(TextTree):
        def unwritable(self) -> frozenset[str]:
            return frozenset({"sub"})

    result = await strong.runner.execute(ShellJob(command=command, base=Linked(TREE), limits=LIMITS))
    assert result.files == {"good.py": "x\n"}
    assert len(result.dropped) == 6
    assert result.dropped["sub/file"] == "lies at or below 'sub', a link or a submodule"
    assert {"a\\x1b[31m", "b\\u{dcff}"} <= set(result.dropped)


async def test_no_more_than_a_change_can_hold_comes_back(strong: Commands) -> None:
    result = await strong("for i in $(seq 100 150); do echo $i > n$i.txt; done")
    assert sorted(result.files) == [f"n{i}.txt" for i in range(100, 140)]
    assert result.dropped["n140.txt"] == "more than 40 files were changed"
    large = await strong("for i in 1 2 3 4 5; do head -c 1000000 /dev/zero | tr '\\0' x > n$i.txt; done")
    assert sorted(large.files) == [f"n{i}.txt" for i in range(1, 5)]
    assert large.dropped == {"n5.txt": "the changed files have more than 4 MB"}
    flood = await strong("mkdir m; seq -f m/%.0f 21000 | xargs touch; echo x > a.py")
    assert flood.files == {}
    assert "more than 20000 new files" in flood.dropped["."]


async def test_closed_files_and_folders_are_read_all_the_same(run: Commands) -> None:
    result = await run("mkdir -p shut/in; echo x > shut/in/file; chmod 0 shut/in/file shut/in shut; chmod 0 a.py")
    assert result.files == {"shut/in/file": "x\n"}


async def test_a_link_out_of_the_tree_brings_nothing_in(strong: Commands) -> None:
    result = await strong("rm -r docs; ln -s /etc docs; ln -s / up; ln /etc/passwd hard 2>/dev/null; true")
    assert result.files.keys() <= {"docs/b.txt", "docs/c.txt"}
    assert result.dropped["docs"] == result.dropped["up"] == "is a symbolic link"


async def test_a_background_process_dies_with_the_command(run: Commands) -> None:
    word = mark()
    command = f"(setsid sleep {word} &) ; sleep {word} & (sleep 1; echo late > late.txt) & echo out"
    result = await run(command)
    assert (result.output, result.exit_code, result.ended) == ("out\n", 0, Ended.EXITED)
    assert result.files == {}
    for _ in range(50):
        if not alive(word):
            return
        await asyncio.sleep(0.02)
    pytest.fail("a process of the command still runs")


async def test_a_command_that_takes_too_long_is_ended_with_what_it_did(run: Commands) -> None:
    result = await run("echo begun; echo x > a.py; sleep 60", limits=replace(LIMITS, cpu_s=1.5))
    assert (result.output, result.ended) == ("begun\n", Ended.TIMEOUT)
    assert result.exit_code < 0
    assert result.files == {"a.py": "x\n"}


async def test_of_a_flood_beginning_and_end_are_kept(strong: Commands) -> None:
    result = await strong("echo first; seq 1000000; echo last")
    assert result.ended is Ended.EXITED
    assert result.output.startswith("first\n1\n2\n")
    assert result.output.endswith("\n1000000\nlast\n")
    assert "bytes left out" in result.output
    assert len(result.output) < 70_000


async def test_python_pytest_and_node_are_there_with_the_libraries_of_tests(run: Commands) -> None:
    tests = {"tests/test_a.py": "import a, lib, hypothesis\n\n\ndef test_a():\n    assert a.A == lib.LIB == 1\n"}
    result = await run("pytest -q tests && cd docs && python3 -c 'import a, lib, pytest; exit(5)'", tests=tests)
    assert "1 passed" in result.output
    assert result.exit_code == 5, result.output
    assert (result.files, result.dropped) == ({}, {})
    node = await run("node -e 'console.log(6 * 7)'; echo $HOME > $HOME/x; mktemp > /dev/null && pwd | grep -q $HOME")
    assert node.output == ("42\n" if runtime().node else "sh: 1: node: not found\n")
    assert node.exit_code == 1, "HOME is outside of the tree"


async def test_packages_are_there_for_the_command_that_may_use_them(folder: Path, tmp_path: Path) -> None:
    (index := tmp_path / "index").mkdir()
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    layers = LayerStore(folder / "packages", runtime(), environ=environ(index))
    packages = (await layers.satisfy(["moonphase"])).packages
    run = Commands(ShellRunner(bubblewrap(), runtime(), folder / "staging", layers=layers))
    result = await run("python -c 'import moonphase; print(moonphase.FULL)'", packages=packages)
    assert result.output == "1\n"
    without = await run("python -c 'import moonphase'")
    assert "ModuleNotFoundError" in without.output
    with pytest.raises(SandboxError, match="needs packages"):
        await Commands(ShellRunner(bubblewrap(), runtime(), folder / "staging"))("true", packages=packages)


async def test_no_command_reports_files_but_by_writing_them(strong: Commands) -> None:
    forged = '{"files": {"forged.py": "x"}, "dropped": {}, "output": ["", "", 0]}'
    command = f"""
        echo real > real.txt
        for f in /proc/1/fd/* /proc/self/fd/*; do printf '%064d\\n{forged}' 0 > $f; done 2>/dev/null; exec 1>&- 2>&-
    """
    result = await strong(command)
    assert result.files == {"real.txt": "real\n"}
    assert result.ended in {Ended.EXITED, Ended.KILLED}


async def test_output_is_masked_and_free_of_what_a_terminal_obeys(strong: Commands) -> None:
    key = "sk-" + "a" * 20 + "\\033[0m" + "b" * 20
    command = f"printf 'a\\033[31mred\\033[0m\\007 {key}\\n10%%\\r100%%\\r\\n\\033]0;title\\007x\\377y\\n'"
    result = await strong(command)
    assert result.output == "ared ***\n100%\nx\ufffdy\n"
