"""Variables and scripts that make tox, nox, uv and others use the environment of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.sandbox.inside import environment_makers


@pytest.mark.parametrize(
    ("files", "sections"),
    [
        ({"tox.ini": "[tox]\nenvlist = py\n[testenv]\n[testenv:unit]\ndeps = x\n"}, {"testenv:unit"}),
        ({"tox.toml": "[env_run_base]\n[env.unit]\n"}, {"env.unit"}),
        ({"pyproject.toml": "[tool.tox.env.unit]\n[tool.hatch.env.x]\n"}, {"tool.tox.env.unit"}),
    ],
)
def test_no_section_of_tox_installs_or_hides_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], sections: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOX_OVERRIDE", "testenv.ignore_errors=true")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = environment_makers.variables(("/work", "/lib"))["TOX_OVERRIDE"].split(";")
    for section in {"testenv", "env_run_base", "tool.tox.env_run_base", *sections}:
        assert {f"{section}.deps=", f"{section}.pass_env=*", f"{section}.set_env+=PYTHONPATH=/work:/lib"} <= set(words)
    assert len(words) == 5 * (3 + len(sections)) + 1
    assert words[-1] == "testenv.ignore_errors=true", "the owner's comes last"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("uv --no-cache run --frozen --with x -- sh -c 'exit 3'", 3), ("poetry run -m this", 0), ("uv sync", 0),
        ("pdm run test x", 127), ("hatch run test:unit", 127), ("uv build", 127), ("uv run", 127),
    ],
)  # fmt: skip
def test_makers_of_environments_run_their_command_and_no_script_of_the_owner(
    tmp_path: Path, line: str, status: int
) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    environment_makers.write_programs(str(tmp_path), "")
    done = subprocess.run(["sh", "-c", line], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True)
    assert done.returncode == status, done.stderr
