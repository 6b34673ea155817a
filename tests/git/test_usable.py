"""The check of the repository that a task names, before the task is accepted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nightshift.attempt.trouble import find_trouble
from nightshift.core.errors import GitError
from nightshift.git.discovery import discover
from nightshift.git.usable import refuse_unusable_place
from tests.support.git_repo import OWNER, fingerprint, git, make_repo


def read_words(repo: Path, base: str | None = None) -> str:
    with pytest.raises(GitError) as caught:
        refuse_unusable_place(str(repo), base, OWNER)
    return str(caught.value)


def test_a_repository_that_can_be_used_is_let_through_and_not_touched(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"src/a.py": "x = 1\n"})
    git(repo, "tag", "v1")
    commit = git(repo, "rev-parse", "HEAD")
    before = fingerprint(repo)
    for base in (None, "main", "refs/heads/main", "v1", commit, commit[:8], "HEAD"):
        refuse_unusable_place(str(repo), base, OWNER)
    refuse_unusable_place(str(repo / "src"), None, OWNER)
    assert fingerprint(repo) == before


def test_a_folder_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    make_repo(tmp_path / "shop")
    assert read_words(tmp_path / "shpo") == f"repo: there is no folder {tmp_path}/shpo; did you mean {tmp_path}/shop?"
    assert read_words(Path("/nope")) == "repo: there is no folder /nope"
    assert read_words(Path("/" + "n" * 3000)) == f"repo: /{'n' * 199} cannot be a folder (File name too long)"
    assert read_words(Path("shop")) == "repo: shop must be an absolute path"


def test_a_folder_without_a_repository_and_one_without_a_commit_are_told(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "is not in a git repository; run `git init` there" in read_words(tmp_path / "plain")
    git(tmp_path / "plain", "init", "-q", "-b", "main")
    assert read_words(tmp_path / "plain").endswith("has no commit yet; make a first one, or name a base")


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (".git/refs/heads/main", b"", "broken"),
        ("the commit", b"", "is empty"),
        (".git/config", b"[core]\n\trepositoryformatversion = 9\n", "Expected git repo version"),
    ],
)
def test_damage_is_told_in_git_s_own_words(tmp_path: Path, file: str, content: bytes, words: str) -> None:
    repo = make_repo(tmp_path / "shop")
    commit = git(repo, "rev-parse", "HEAD")
    path = repo / (f".git/objects/{commit[:2]}/{commit[2:]}" if file == "the commit" else file)
    path.chmod(0o644)
    path.write_bytes(content)
    for problem in (read_words(repo), read_words(repo, "main")):
        assert words in problem
        assert "make a first one" not in problem


NAME = "[user]\n\tname = Ann Owner\n\temail = ann@example.org\n"


@pytest.mark.parametrize(
    ("config", "author"),
    [
        (NAME.replace("Ann", "Zo\u00e9").encode("latin-1"), "Zo\u00e9 Owner <ann@example.org>"),
        (b"[user] name = Ann Owner\n[user] email = ann@example.org\n", "Ann Owner <ann@example.org>"),
        (NAME.encode() + b'[includeIf "gitdir:**/shop/.git"]\n\tpath = work\n', "Ann Owner <ann@work.example>"),
        (NAME.encode() + b'[includeIf "hasconfig:remote.*.url:https://work/**"]\n\tpath = work\n',
         "Ann Owner <ann@work.example>"),
        (b'[user]\n\tname = "Ann # Owner" ; me\n\temail = ann@example.org\n', "Ann # Owner <ann@example.org>"),
        (b"\xef\xbb\xbf" + NAME.encode() + b"[diff]\n\tmnemonicPrefix\n", "Ann Owner <ann@example.org>"),
        (b"", "Nightshift <nightshift@localhost>"),
    ],
)  # fmt: skip
def test_the_author_is_the_one_that_git_reads(tmp_path: Path, config: bytes, author: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_bytes(config)
    (home / "work").write_text("[user]\n\temail = ann@work.example\n")
    repo = make_repo(tmp_path / "shop")
    git(repo, "remote", "add", "origin", "https://work/shop.git")
    person = discover(repo, {"PATH": OWNER["PATH"], "HOME": str(home)}).configuration.author
    assert f"{person.name} <{person.email}>" == author


@pytest.mark.parametrize(
    ("theirs", "own", "is_safe"),
    [
        ("directory = *", "", True),
        ("directory = *\n\tdirectory =", "", False),
        ("directory = ~/shop", "", True),
        ("", "[safe]\n\tdirectory = *\n", False),
    ],
)
def test_only_the_owner_s_configuration_says_what_is_safe(
    tmp_path: Path, theirs: str, own: str, *, is_safe: bool
) -> None:
    repo = make_repo(tmp_path / "shop")
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\t{theirs}\n")
    with (repo / ".git" / "config").open("a") as stream:
        stream.write(own)
    assert discover(repo, {"PATH": OWNER["PATH"], "HOME": str(tmp_path)}).configuration.is_safe(repo) is is_safe


def test_a_base_that_is_no_ref_is_told_with_the_nearest(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "develop")
    assert read_words(repo, "devlop") == (
        f"base: there is no branch, tag or commit 'devlop' in {repo}; did you mean develop?"
    )
    assert read_words(repo, "--all").startswith("base: there is no branch, tag or commit '--all'")
    assert read_words(repo, "a\nb") == "base: must be one line"


def test_a_branch_that_leaves_no_room_for_those_of_tasks_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "agent")
    for base in (None, "main"):
        assert read_words(repo, base) == (
            f"repo: {repo} has a branch named agent, beside which git cannot make the branch agent/… of a task; "
            "rename it with `git branch -m agent NAME`"
        )
    git(repo, "branch", "-m", "agent", "agent/mine")
    git(repo, "tag", "agent")
    refuse_unusable_place(str(repo), None, OWNER)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_repository_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    (repo / ".git" / "refs").chmod(0o500)
    assert "may not be written by the user" in read_words(repo)
    (repo / ".git" / "refs").chmod(0o700)


@pytest.mark.parametrize("away", [".git", ".git/objects", ".git/HEAD"])
def test_a_repository_whose_disk_is_away_is_waited_for(tmp_path: Path, away: str) -> None:
    repo = make_repo(tmp_path / "shop")
    (repo / away).rename(tmp_path / "away")
    with pytest.raises(GitError) as caught:
        refuse_unusable_place(str(repo), None, OWNER)
    assert str(repo) in find_trouble(caught.value, repo)


@pytest.mark.parametrize("setting", ["branch.dev.pushRemote fork", "branch.dev.remote fork", "remote.pushDefault no"])
def test_a_push_goes_to_the_remote_that_git_would_choose(tmp_path: Path, setting: str) -> None:
    repo = make_repo(tmp_path / "shop")
    for remote in ("origin", "fork"):
        git(repo, "remote", "add", remote, f"/srv/{remote}.git")
    git(repo, "config", *setting.split())
    chosen = "fork" if setting.endswith("fork") else "origin"
    assert discover(repo, OWNER).configuration.push_url("dev") == f"/srv/{chosen}.git"
