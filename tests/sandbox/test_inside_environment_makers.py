"""Variables and scripts that make tox, nox, uv and others use the environment of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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


def test_makers_run_their_command_and_no_script_of_the_owner(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    environment_makers.write_programs(str(tmp_path), "")
    refused = ("pdm run test x", "hatch run test:unit", "uv build", "uv run")
    lines = ("uv --no-cache run --frozen --with x -- false", "poetry run -m this", "uv sync", *refused)
    text = "".join(f"{line} >/dev/null; echo $?\n" for line in lines)
    printed = subprocess.check_output(["sh", "-c", text], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, text=True)
    assert printed.split() == ["1", "0", "0", *["127"] * len(refused)]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("t", ["t", "t-3.9", "t-3.11"]), ("t(x=1)", ["t(x=1)", "t-3.9", "t-3.9(x=1)", "t-3.11", "t-3.11(x=1)"])],
)
def test_a_session_of_nox_is_found_by_each_version(name: str, wanted: list[str]) -> None:
    func, session = SimpleNamespace(python=["3.9", "3.11"]), SimpleNamespace(signatures=[name])
    environment_makers._with_versions(lambda *_words: [session])(None, "t", func)
    assert (session.signatures, session.versions, func.venv_backend) == (wanted, ["3.9", "3.11"], "none")
