"""`nightshift verify` and `proof`: their output and exit codes, and that they leave no files in the home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightshift.storage.db.database import Database
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.git_repo import fingerprint, git, make_repo
from tests.support.home import Home

MESSAGE = "Make a\n\nTask: 7\nModel: m\nIterations: 1\nVerdict: tests_passed\n"
NO_SANDBOX = {"SANDBOX": "docker", "DOCKER_HOST": "unix:///nonexistent/engine"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Make a repository whose last commit has a message like Nightshift's."""
    repo = make_repo(tmp_path / "repo")
    (repo / "a.py").write_text("A = 1\n")
    (repo / "test_a.py").write_text("from a import A\n\n\ndef test_a():\n    assert A == 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", MESSAGE)
    return repo


def add_note(repo: Path, **other: Any) -> None:
    note = {
        "format": 2, "task": 7, "commit": git(repo, "rev-parse", "HEAD"), "base": git(repo, "rev-parse", "HEAD^"),
        "tree": git(repo, "rev-parse", "HEAD^{tree}"), "tests": ["test_a.py"], "changed": ["a.py"], "passed": 1,
        "model": "m", "iterations": 1, "evidence": {"tree": "", "sandbox": "bubblewrap", "label": "tests_passed"},
    }  # fmt: skip
    git(repo, "notes", "--ref=nightshift", "add", "-F", "-", stdin=json.dumps(note | other))


def test_a_commit_without_evidence_or_no_commit_at_all_is_exit_code_4(home: Home, repo: Path) -> None:
    result = home.cli("verify", "HEAD", "--repo", str(repo))
    assert (result.code, result.out) == (4, "")
    assert "git fetch origin refs/notes/nightshift:refs/notes/nightshift" in result.err
    unknown = home.cli("--verify", "no-such-branch", "--repo", str(repo), "--json")
    assert (unknown.code, json.loads(unknown.err)["error"]) == (
        4,
        f"{repo} has no branch, tag or commit 'no-such-branch', and none that begins with it",
    )
    nowhere = home.cli("verify", "HEAD")
    assert nowhere.code == 4
    assert "name a repository with --repo" in nowhere.err
    assert list(home.path.iterdir()) == []


def test_a_note_of_another_commit_is_exit_code_1_and_nothing_runs(home: Home, repo: Path) -> None:
    add_note(repo, commit="0" * 40)
    before = fingerprint(repo)
    result = home.cli("verify", "main", "--repo", str(repo))
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[1] == "subject  Make a"
    assert [line.split()[0] for line in lines if line.split()[1:2] == ["commit"]] == ["FAILED"]
    assert lines[-1] == "does not hold: commit"
    assert fingerprint(repo) == before


def test_any_beginning_of_a_branch_or_a_commit_names_it_where_the_ledger_knows_nothing(home: Home, repo: Path) -> None:
    add_note(repo, commit="0" * 40)
    git(repo, "branch", "agent/7-make-a")
    head = git(repo, "rev-parse", "HEAD")
    for name in ("main", "mai", "agent/7-", "7-make", head[:6], head.upper()):
        result = home.cli("verify", name, "--repo", str(repo), "--json")
        assert (result.code, result.json["commit"]) == (1, head), name
    git(repo, "branch", "agent/7-make-b", "HEAD^")
    result = home.cli("verify", "agent/7-", "--repo", str(repo))
    assert result.code == 5
    assert all(f"branch agent/7-make-{each}" in result.err for each in "ab")


def test_the_names_of_the_ledger_lead_to_a_commit_of_its_repository(home: Home, repo: Path) -> None:
    add_note(repo, commit="0" * 40)
    assert home.cli("a task of the ledger").code == 0
    head = git(repo, "rev-parse", "HEAD")
    with Database(home.path / "db" / "agent_logs.sqlite") as database:
        row = Commit(
            task_id=1, attempt=1, repo=str(repo), branch="agent/1-a", commit=head, base="b" * 40, subject="Make a",
            label="tests_passed",
        )  # fmt: skip
        StateStore(database).record_commit(row).result()
    for name in ("1", "#1", head[:7], "agent/1-", "1-a"):
        assert home.cli("verify", name, "--json").json["commit"] == head, name
        assert home.cli("verify", name, "--json", "--repo", str(repo)).json["commit"] == head, name
    git(repo, "branch", "agent/1-a", "HEAD^")
    assert home.cli("verify", "agent/1-", "--json").code == 4, "of a branch it is the commit that it holds now"
    assert home.cli("verify", "1", "--json").json["commit"] == head


def test_the_proof_of_a_commit_is_written_into_a_file(home: Home, repo: Path, tmp_path: Path) -> None:
    add_note(repo)
    before, out = fingerprint(repo), tmp_path / "proof.html"
    result = home.cli("proof", "HEAD", "--repo", str(repo), "--out", str(out))
    assert (result.code, result.out) == (0, f"written to {out}\n")
    assert "<title>Proof of " in out.read_text()
    assert fingerprint(repo) == before
    assert list(home.path.iterdir()) == []


def test_where_nothing_may_be_executed_the_exit_code_is_5(home: Home, repo: Path) -> None:
    add_note(repo)
    result = home.run("verify", "HEAD", "--repo", str(repo), "--json", **NO_SANDBOX)
    assert result.code == 5, result.err
    assert result.json["holds"] is False
    assert result.json["judgement"] == "not verified: nothing was run"
    last = result.json["checks"][-1]
    assert (last["what"], last["result"]) == ("tests", "not checked")
    assert "docker" in last["detail"]
