"""The input that Nightshift sends to git processes, and the parsing of their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from nightshift.git import protocol
from nightshift.git.commands import Git
from tests.support.git_repo import make_repo


def test_what_a_push_refused_is_read_by_name() -> None:
    moved, same = " \tab:refs/heads/x\tab..cd", "=\tgh:refs/heads/y\t[up to date]"
    answer = f"To /r\n{moved}\n!\tef:refs/notes/n\t[rejected] (fetch first)\n{same}\nDone"
    assert protocol.read_refused(answer) == {"refs/notes/n"}
    assert protocol.read_refused("fatal: no route") == frozenset()


def test_an_excerpt_shows_each_conflict_with_its_surroundings() -> None:
    lines = [f"line {n}" for n in range(40)]
    lines[20:21] = ["<<<<<<< a", "mine", "=======", "theirs", ">>>>>>> b"]
    text = protocol.conflict_excerpt("\n".join(lines))
    assert text.split("\n") == lines[17:28]
    assert protocol.conflict_excerpt("no conflict\n") == ""
    long = "<<<<<<< a\n" + "x\n" * 100 + ">>>>>>> b"
    assert protocol.conflict_excerpt(long).split("\n")[-1] == "… (cut)"


def test_a_merges_answer_is_read() -> None:
    assert protocol.parse_merge(b"abc\0") == protocol.MergeAnswer(tree="abc")
    assert protocol.parse_merge(b"abc\0a.py\0b.py\0a.py\0\0rest\0").conflicts == ("a.py", "b.py")


@pytest.mark.parametrize(
    ("url", "local", "fault"),
    [
        ("../x.git", True, False), ("file:///srv/x.git", True, False), ("git@example.org:x.git", False, False),
        ("https://example.org/x.git", False, False), ("ext::sh -c x", False, True), ("-oProxyCommand=x", True, True),
        ("./a:b", True, False),
    ],
)  # fmt: skip
def test_addresses_are_told_apart(url: str, local: bool, fault: bool) -> None:
    assert (protocol.is_local(url), protocol.url_fault(url) is not None) == (local, fault)


def test_passwords_are_left_out_of_addresses() -> None:
    text = "cannot reach https://me:secret@example.org/x and ssh://you@example.org"
    assert protocol.without_password(text) == "cannot reach https://***@example.org/x and ssh://***@example.org"


def test_a_lock_is_read_from_an_error_and_gits_general_advice_is_left_out() -> None:
    error = "fatal: prepare: cannot lock ref 'x': Unable to create '/r/x.lock': File exists."
    advice = "\n\nAnother git process seems to be running in this repository, e.g.\nan editor"
    assert (protocol.lock_in(error + advice), protocol.without_advice(error + advice)) == ("/r/x.lock", error)
    assert (protocol.lock_in("fatal: no"), protocol.without_advice("fatal:\n\nno")) == (None, "fatal:\n\nno")


@pytest.mark.parametrize(("home", "ours", "task"), [("01", "01", 7), ("01", "02", None), ("", "02", 7), ("01", "", 7)])
def test_a_line_of_the_log_names_the_task_of_its_own_home_alone(home: str, ours: str, task: int | None) -> None:
    trailers = f"Task: 7\nHome: {home}" if home else "Task: 7"
    line = protocol.log_line(f"abc\x1f1\x1fNight\x1fDo it\n\n{trailers}\n", ours)
    assert (line.id, line.subject, line.task_id) == ("abc", "Do it", task)


def test_of_the_daemons_environment_only_the_path_is_passed_on() -> None:
    environ = {"PATH": "/bin", "HOME": "/root", "OPENAI_API_KEY": "k", "GIT_DIR": "/x", "SSH_AUTH_SOCK": "/s"}
    private, push = protocol.private_environment(environ), protocol.push_environment(environ)
    assert (private["PATH"], private["HOME"], private["GIT_CONFIG_GLOBAL"]) == ("/bin", "/nonexistent", "/dev/null")
    assert (push["HOME"], push["SSH_AUTH_SOCK"]) == ("/root", "/s")
    for env in (private, push):
        assert not {"OPENAI_API_KEY", "GIT_DIR"} & env.keys()
        assert env["GIT_TERMINAL_PROMPT"] == "0"


def test_a_command_that_fails_says_what_git_said(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    with pytest.raises(GitError, match="git cat-file failed: fatal: Not a valid object name nothing"):
        Git(repo / ".git", protocol.private_environment({"PATH": "/usr/bin:/bin"}))("cat-file", "-p", "nothing")
    with pytest.raises(GitError, match="git could not be started"):
        Git(repo / ".git", {"PATH": str(tmp_path)})("version")
