"""The version of the agent changes with its prompts and the code that makes them, and with nothing else."""

from __future__ import annotations

from pathlib import Path

from nightshift.report.benchmark.version import version, version_of


def test_a_prompt_and_its_code_make_the_version_and_what_is_compiled_does_not(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "coding.py").write_text("pass\n")
    (tmp_path / "prompts" / "coder.md").write_text("Write it.\n")
    first = version_of(tmp_path)
    (tmp_path / "coding.pyc").write_text("x")
    assert version_of(tmp_path) == first
    (tmp_path / "prompts" / "coder.md").write_text("Write it well.\n")
    second = version_of(tmp_path)
    (tmp_path / "coding.py").write_text("return\n")
    assert len({first, second, version_of(tmp_path)}) == 3


def test_this_program_has_one() -> None:
    assert len(version()) == 10
