"""`nightshift proof` writes a file, or reports why it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.git_repo import fingerprint, git, make_repo
from tests.support.home import Home


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    (tmp_path / "home").mkdir()
    return Home(path=tmp_path / "home", capture=capsys)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"a.py": "A = 1\n"})


def note(repo: Path) -> Path:
    (repo / "a.py").write_text("A = 2\n")
    git(repo, "commit", "-q", "-a", "-m", "Make a two\n\nTask: 7")
    note = {
        "format": 2, "task": 7, "commit": git(repo, "rev-parse", "HEAD"), "base": git(repo, "rev-parse", "HEAD^"),
        "tree": git(repo, "rev-parse", "HEAD^{tree}"), "passed": 1, "changed": ["a.py"],
        "evidence": {"tree": "", "sandbox": "bubblewrap", "label": "tests_passed"},
    }  # fmt: skip
    git(repo, "notes", "--ref=nightshift", "add", "-F", "-", stdin=json.dumps(note))
    return repo


def test_the_proof_of_a_commit_is_written_into_a_file(home: Home, repo: Path, tmp_path: Path) -> None:
    note(repo)
    before, out = fingerprint(repo), tmp_path / "proof.html"
    result = home.cli("proof", "HEAD", "--repo", str(repo), "--out", str(out))
    assert (result.code, result.out) == (0, f"written to {out}\n")
    assert "<title>Proof of " in out.read_text()
    assert fingerprint(repo) == before
    assert list(home.path.iterdir()) == []


def test_without_evidence_no_file_is_written(home: Home, repo: Path, tmp_path: Path) -> None:
    result = home.cli("proof", "HEAD", "--repo", str(repo), "--out", str(tmp_path / "proof.html"))
    assert result.code == 4
    assert "has no evidence here" in result.err
    assert not (tmp_path / "proof.html").exists()


def test_a_file_that_cannot_be_written_is_named(home: Home, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    out = tmp_path / "taken" / "proof.html"
    result = home.cli("proof", "HEAD", "--repo", str(note(repo)), "--out", str(out))
    assert result.code == 2
    assert f"{out} cannot be written" in result.err
    assert "name another with --out" in result.err
