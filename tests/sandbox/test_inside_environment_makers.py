"""Variables that make tox and nox use the environment of a run."""

from __future__ import annotations

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
