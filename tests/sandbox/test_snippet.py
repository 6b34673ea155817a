"""Direct execution: its input, its output, and what a snippet cannot do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended
from nightshift.core.ports import Sandbox
from nightshift.sandbox import run_python
from tests.support.sandboxes import bubblewrap, open_folder, runtime

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def isolation() -> Sandbox:
    runtime()  # builds the runtime again if the code is newer
    return bubblewrap()


async def test_code_files_and_input_go_in_and_streams_and_status_come_back(isolation: Sandbox) -> None:
    code = "import sys, os, helper\nprint(helper.double(input()), end='')\nprint('no', file=sys.stderr)\nsys.exit(7)\n"
    files: dict[str, str | bytes] = {"helper.py": "def double(x):\n    return x * 2\n", "data/raw.bin": b"\x00\xff"}
    result = await run_python(code, stdin="ab\nrest\n", files=files, sandbox=isolation)
    assert (result.stdout, result.stderr, result.exit_code, result.ended) == ("abab", "no\n", 7, Ended.EXITED)
    assert (result.ok, result.sandbox) == (False, isolation.name)
    seen = await run_python("print(open('data/raw.bin', 'rb').read())", files=files, sandbox=isolation)
    assert (seen.stdout, seen.ok) == ("b'\\x00\\xff'\n", True)


async def test_a_fault_is_told_as_python_tells_it(isolation: Sandbox) -> None:
    result = await run_python("def f():\n    return 1 / 0\n\n\nf()\n", sandbox=isolation)
    assert result.exit_code == 1
    frames = re.findall(r'File "(.*)", line (\d+), in (\S+)', result.stderr)
    assert [(Path(path).name, line, name) for path, line, name in frames] == [
        ("snippet.py", "5", "<module>"), ("snippet.py", "2", "f"),
    ]  # fmt: skip
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    broken = await run_python("def f(:\n", sandbox=isolation)
    assert "SyntaxError" in broken.stderr


async def test_a_signal_is_a_negative_status(isolation: Sandbox) -> None:
    result = await run_python("import os\nos.abort()\n", sandbox=isolation)
    assert (result.exit_code, result.ended) == (-6, Ended.KILLED)


async def test_output_is_safe_to_print_and_the_bytes_are_there_as_well(isolation: Sandbox) -> None:
    raw = b"\x1b]0;t\x07 \xff\xfe \xe2\x80\xae \x00\tend " + b"y" * 5000
    result = await run_python(f"import os\nos.write(1, {raw!r})\nos.write(2, {raw!r})", sandbox=isolation)
    assert result.raw_stdout == raw
    assert result.stdout == result.stderr == "\\x1b]0;t\\x07 \ufffd\ufffd \\u{202e} \\x00\tend " + "y" * 5000


async def test_named_libraries_can_be_imported_and_others_cannot() -> None:
    runtime()
    with open_folder() as folder:
        (folder / "site").mkdir()
        (folder / "site" / "mine.py").write_text("x = 5\n")
        result = await run_python("import mine\nprint(mine.x)", libraries=[folder / "site"], sandbox=bubblewrap())
    assert result.stdout == "5\n", result.stderr
    without = await run_python("import pydantic_settings", sandbox=bubblewrap())
    assert "ModuleNotFoundError" in without.stderr


async def test_a_wrong_name_of_a_sandbox_or_a_file_is_refused() -> None:
    runtime()
    with pytest.raises(SandboxError, match="no sandbox 'strong'"):
        await run_python("print(1)", sandbox="strong")
    with pytest.raises(SandboxError, match="cannot be staged"):
        await run_python("print(1)", files={"../out.py": ""}, sandbox=bubblewrap())


def test_nothing_runs_where_no_isolation_holds(tmp_path: Path) -> None:
    runtime()
    marker = tmp_path / "ran"
    code = f"""
import asyncio
from nightshift.sandbox import run_python
async def main():
    await run_python("open({str(marker)!r}, 'w')")
asyncio.run(main())
"""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "prlimit").symlink_to("/usr/bin/prlimit")
    argv = [sys.executable, "-c", code]
    env = {"PATH": str(tmp_path / "bin"), "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Nightshift ran nothing, because no sandbox passed its self-test" in done.stderr
    assert "bubblewrap: this sandbox needs bwrap" in done.stderr
    assert not marker.exists()


def test_the_example_of_the_page_is_the_one_that_runs() -> None:
    runtime()
    script = ROOT / "examples" / "run_snippet.py"
    assert f"```python snippet\n{script.read_text()}```" in (ROOT / "docs" / "reference" / "library.md").read_text()
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False, cwd="/"
    )
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, "sum: 42 ok: True"), ran.stderr
    assert ran.stdout.splitlines()[1:] == ["curious: 1 urllib.error.URLError", "greedy: False endless: timeout"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("pydantic", "pytest", "docker", "nightshift.sandbox.runtime")
    code = f"import sys, nightshift.sandbox; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
