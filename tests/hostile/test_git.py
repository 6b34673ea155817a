"""Repositories that make git run a program for anyone who works in them.

Plain git runs the program; git as Nightshift calls it does not.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from tests.git.conftest import Bench, message
from tests.support.git_repo import IDENTITY, OWNER, git, make_repo, write

HOOKS = (
    "pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-merge", "pre-push",
    "post-index-change", "reference-transaction", "pre-merge-commit", "post-rewrite", "pre-auto-gc",
)  # fmt: skip
Trap = Callable[[Path, Path], None]


def settings(repo: Path, text: str, file: str = ".git/config") -> None:
    with (repo / file).open("a") as config:
        config.write(text)


def hooks_in_its_files(repo: Path, program: Path) -> None:
    for name in HOOKS:
        copy(program, repo / "tools" / name)
    settings(repo, "[core]\n\thooksPath = tools\n")


def settings_in_its_files(repo: Path, program: Path) -> None:
    write(repo, {"tools/settings": f"[core]\n\tfsmonitor = {program}\n"})
    settings(repo, "[include]\n\tpath = ../tools/settings\n")


def settings_of_one_worktree(repo: Path, program: Path) -> None:
    settings(repo, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
    settings(repo, f"[core]\n\tfsmonitor = {program}\n", ".git/config.worktree")


def a_filter_of_contents(repo: Path, program: Path) -> None:
    write(repo, {".gitattributes": "*.py filter=evil\n"})
    settings(repo, f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n')


def a_driver_for_merges(repo: Path, program: Path) -> None:
    write(repo, {".gitattributes": "*.py merge=evil\n"})
    settings(repo, f'[merge "evil"]\n\tdriver = {program} %O %A %B\n')


def a_signature(repo: Path, program: Path) -> None:
    settings(repo, f"[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked\n[gpg]\n\tprogram = {program}\n")


def a_repository_among_its_files(repo: Path, program: Path) -> None:
    inner = make_repo(repo / "vendor/inner")
    settings(inner, f"[core]\n\tfsmonitor = {program}\n")
    write(repo, {".gitmodules": '[submodule "inner"]\n\tpath = vendor/inner\n\turl = ./vendor/inner\n'})
    git(repo, "add", "vendor/inner", ".gitmodules")


def a_helper_for_passwords(repo: Path, program: Path) -> None:
    settings(repo, f"[credential]\n\thelper = {program}\n[core]\n\taskPass = {program}\n")
    settings(repo, '[remote "origin"]\n\turl = http://127.0.0.1:1/none\n[http]\n\tproxyAuthMethod = basic\n')
    settings(repo, f'[core]\n\tgitProxy = {program}\n[remote "origin"]\n\tpushurl = git://127.0.0.1:1/none\n')


TRAPS: tuple[Trap, ...] = (
    hooks_in_its_files, settings_in_its_files, settings_of_one_worktree, a_filter_of_contents, a_driver_for_merges,
    a_signature, a_repository_among_its_files, a_helper_for_passwords,
)  # fmt: skip


def copy(program: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(program.read_bytes())
    to.chmod(0o755)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def program(tmp_path: Path, marks: Path) -> Path:
    """A program that leaves a mark and then acts as `cat`."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\ntouch '{marks}/ran'\nexec timeout 0.4 cat\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with two branches that changed the same file in different places."""
    lines = "".join(f"{number}\n" for number in range(20))
    repository = make_repo(tmp_path / "repo", {"a.py": lines, "b.py": "b = 1\n"})
    git(repository, "branch", "dev")
    write(repository, {"a.py": "top\n" + lines})
    git(repository, "commit", "-qam", "Top")
    git(repository, "checkout", "-q", "dev")
    write(repository, {"a.py": lines + "end\n"})
    git(repository, "commit", "-qam", "End")
    git(repository, "checkout", "-q", "main")
    return repository


NAIVE = (
    ("status", "--short"), ("add", "-A"), ("commit", "-qm", "x"), ("diff", "HEAD~1"), ("log", "-p", "-1"),
    ("merge", "-q", "-m", "y", "dev"), ("checkout", "-q", "dev"), ("checkout", "-q", "main"),
    ("push", "-q", "origin", "HEAD"),
)  # fmt: skip


def works_naively(repo: Path) -> None:
    """Act as a daemon that trusts the repository: call git in the owner's folder."""
    write(repo, {"b.py": "b = 2\n"})
    for words in NAIVE:
        command = ["git", *IDENTITY, *words]
        subprocess.run(command, cwd=repo, env=OWNER, capture_output=True, timeout=20, check=False)


def works(bench: Bench, repo: Path) -> Iterator[str]:
    """Do everything that our git manager does for a task, and yield the name of each completed step."""
    where = bench.git.open(str(repo), "dev", 7, "x", bench.now)
    yield "open"
    where.tree.read("a.py")
    commit = bench.git.commit(where, where.base, {"b.py": "b = 3\n", ".hidden": "x\n"}, message())
    assert commit
    yield "commit"
    other = bench.git.open(str(repo), "main", 8, "y", bench.now)
    bench.git.rebase(other, commit, other.base)
    yield "rebase"
    bench.git.advance(where, commit, where.base)
    bench.git.note(str(repo), commit.id, "evidence")
    bench.git.recent_commits(str(repo), 5)
    bench.git.find_commit(where, 7)
    yield "look"
    bench.git.push(where, commit.branch)
    bench.git.close()
    yield "push"


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_bare_git_runs_a_strangers_program_and_ours_does_not(
    trap: Trap, repo: Path, program: Path, marks: Path, tmp_path: Path
) -> None:
    trap(repo, program)
    steps = list[str]()
    with contextlib.suppress(GitError):
        for step in works(Bench(tmp_path / "bench"), repo):
            steps.append(step)
    assert list(marks.iterdir()) == [], f"after {steps}"
    assert steps == ["open", "commit", "rebase", "look", "push"]
    works_naively(repo)
    assert list(marks.iterdir()), "the trap is none"
