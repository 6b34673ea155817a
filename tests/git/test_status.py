"""The status of a repository has the right values, and reading it writes nothing and starts no process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.git.conftest import Bench
from tests.git.test_hostile import script
from tests.support.git_repo import fingerprint, git, make_repo, write
from tests.support.home import ROOT


def test_a_look_tells_branch_newest_commit_and_changed_files(bench: Bench, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"a.py": "1\n", "b.py": "1\n", "c.py": "1\n"})
    clean = bench.git.statuses.read(str(repo))
    assert (clean.root, clean.branch, clean.changed, clean.upstream, clean.remote) == (
        str(repo), "main", 0, None, None,
    )  # fmt: skip
    assert clean.newest is not None
    assert (clean.newest.subject, clean.newest.author, clean.newest.id) == (
        "First", "Owner", git(repo, "rev-parse", "HEAD"),
    )  # fmt: skip
    write(repo, {"a.py": "2\n", "new.py": "1\n"})
    write(repo, {"b.py": "2\n"})
    git(repo, "add", "b.py")
    (repo / "c.py").unlink()
    assert bench.git.statuses.read(str(repo)).changed == 3


def test_a_look_compares_a_branch_with_what_it_tracks(bench: Bench, tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin")
    repo = tmp_path / "shop"
    git(tmp_path, "clone", "-q", str(origin), str(repo))
    for number in range(2):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"ours {number}")
    git(origin, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(repo, "fetch", "-q")
    git(repo, "remote", "set-url", "origin", "https://me:secret@example.invalid/x.git")
    status = bench.git.statuses.read(str(repo))
    assert (status.upstream, status.ahead, status.behind) == ("origin/main", 2, 1)
    assert status.remote == "https://***@example.invalid/x.git"


def test_a_look_writes_nothing_and_starts_no_program_that_the_repository_names(bench: Bench, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"a.py": "1\n", ".gitattributes": "*.py filter=evil diff=evil\n"})
    marks = tmp_path / "marks"
    marks.mkdir()
    program = script(tmp_path / "evil.sh", marks)
    with (repo / ".git" / "config").open("a") as config:
        config.write(f'[filter "evil"]\nclean = {program}\nsmudge = {program}\n[diff "evil"]\ntextconv = {program}\n')
        config.write(f"[core]\nfsmonitor = {program}\n[diff]\nexternal = {program}\n")
    bench.git.statuses.read(str(repo))  # The first call creates files of its own for this repository
    (repo / "a.py").write_text("2\n")
    before = fingerprint(repo)
    assert bench.git.statuses.read(str(repo)).changed == 1
    assert not list(marks.iterdir())
    assert fingerprint(repo) == before


def test_the_daemons_own_repository_is_asked_about_from_a_shell(tmp_path: Path) -> None:
    asked = "from git_manager import git_manager; print(git_manager.get_repository_stats())"  # As the owner wrote it
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert f"root='{tmp_path / 'workspace'}', branch='main'" in run.stdout
