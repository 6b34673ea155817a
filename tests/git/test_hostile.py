"""A repository whose configuration, hooks and attributes an attacker wrote: no program runs, and no file changes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, make_commit, message
from tests.git.test_integrate import land
from tests.support.git_repo import fingerprint, git, make_repo, write

HOOKS = (
    "pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change", "post-checkout",
    "pre-push", "pre-auto-gc", "post-rewrite", "post-merge", "fsmonitor-watchman", "update", "pre-receive",
    "post-receive",
)  # fmt: skip
LINES = "".join(f"{n}\n" for n in range(30))


def script(path: Path, marker: Path) -> Path:
    """Write a program that creates a marker file with its name and then behaves like `cat`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{marker}/{path.name}'\nexec cat\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def evil(repo: Path, marks: Path) -> Path:
    """Provide a repository with every setting and hook that can make git run a program."""
    write(repo, {"long.py": LINES})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Long")
    git(repo, "branch", "dev")
    program = script(repo.parent / "evil" / "program", marks)
    for name in HOOKS:
        script(repo / ".git" / "hooks" / name, marks)
        script(repo.parent / "evil" / "hooks" / name, marks)
    settings = {
        "core.hooksPath": str(repo.parent / "evil" / "hooks"), "core.fsmonitor": str(program),
        "core.sshCommand": str(program), "core.gitProxy": str(program), "core.askPass": str(program),
        "core.pager": str(program), "core.editor": str(program), "core.alternateRefsCommand": str(program),
        "core.worktree": str(repo.parent), "core.attributesFile": str(repo / ".gitattributes"),
        "credential.helper": f"!{program}", "diff.external": str(program), "diff.evil.command": str(program),
        "diff.evil.textconv": str(program), "filter.evil.clean": str(program), "filter.evil.smudge": str(program),
        "filter.evil.process": str(program), "filter.evil.required": "true", "merge.evil.driver": f"{program} %O %A %B",
        "merge.default": "evil", "commit.gpgSign": "true", "tag.gpgSign": "true", "push.gpgSign": "if-asked",
        "gpg.program": str(program), "gpg.ssh.program": str(program), "gpg.format": "ssh", "gc.auto": "1",
        "maintenance.auto": "true", "sequence.editor": str(program), "uploadpack.packObjectsHook": str(program),
        "log.showSignature": "true", "submodule.recurse": "true", "alias.update-ref": f"!{program}",
        "extensions.partialClone": "evil", "remote.evil.promisor": "true", "remote.evil.url": f"ext::{program}",
        "remote.evil.uploadpack": str(program), "trace2.normalTarget": str(marks / "trace"),
        "include.path": "evil.config", "includeIf.gitdir:/.path": "evil.config", "core.hookspath": str(program.parent),
        "pager.log": str(program), "browser.evil.cmd": str(program), "notes.displayRef": "*", "notes.rewriteRef": "*",
        "receive.procReceiveRefs": "refs/", "core.gitproxy": str(program), "trailer.x.command": str(program),
        "trailer.x.cmd": str(program), "interactive.diffFilter": str(program), "difftool.evil.cmd": str(program),
        "url.ext::evil.pushInsteadOf": "/", "push.pushOption": "evil", "protocol.ext.allow": "always",
    }  # fmt: skip
    (repo / ".git" / "evil.config").write_text(f"[core]\n\tfsmonitor = {program}\n\thooksPath = {program.parent}\n")
    (repo / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = pkg\n\turl = ext::{program}\n\tupdate = !{program}\n')
    write(repo, {".gitattributes": "* filter=evil diff=evil merge=evil text eol=crlf ident export-subst\n"})
    (repo / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    with (repo / ".git" / "config").open("a") as config:
        for name, value in settings.items():
            section, _, key = name.rpartition(".")
            head, _, sub = section.partition(".")
            config.write(f"[{head}{f' {chr(34)}{sub}{chr(34)}' if sub else ''}]\n\t{key} = {value}\n")
    return repo


def test_nothing_of_the_repositorys_own_runs(bench: Bench, evil: Path, marks: Path) -> None:
    first = bench.git.open(str(evil / "pkg"), "dev", 7, "x", bench.now)
    second = bench.git.open(str(evil), "dev", 8, "y", bench.now)
    commit = land(bench.git, first, {"long.py": "top\n" + LINES, "c.py": "$Id$\n"})
    other = land(bench.git, second, {"long.py": LINES + "end\n", "d.py": "d\r\n"})
    third = bench.git.open(str(evil), "dev", 9, "z")
    base = bench.git.tree(third, third.base).read("long.py").decode()
    land(bench.git, third, {"long.py": base.replace("15\n", "fifteen\n")})
    assert first.repo == evil
    assert bench.git.tree(first, commit.id).read("c.py") == b"$Id$\n"
    assert bench.git.tree(first, other.id).read("d.py") == b"d\r\n"
    bench.git.note(str(evil), commit.id, "evidence")
    assert bench.git.read_note(str(evil), commit.id) == "evidence"
    assert "fifteen" in bench.git.tree(str(evil), bench.git.resolve(str(evil), "dev")).read("long.py").decode()
    bench.git.recent_commits(str(evil), 5)
    bench.git.find_commit(first, 7)
    bench.git.push(first, commit.branch)
    bench.git.close()
    assert sorted(path.name for path in marks.iterdir()) == []


def test_a_missing_object_is_not_fetched_but_named(bench: Bench, evil: Path, marks: Path) -> None:
    blob = git(evil, "-c", "core.worktree=", "rev-parse", "HEAD:a.py")
    (evil / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    where = bench.git.open(str(evil), "dev", 7, "x")
    with pytest.raises(GitError, match=rf"{blob} is missing"):
        where.tree.read("a.py")
    (evil / ".git" / "refs" / "heads" / "lost").write_text("1" * 40 + "\n")
    with pytest.raises(GitError, match=r"^base: "):
        bench.git.open(str(evil), "lost", 7, "x")
    assert list(marks.iterdir()) == []


def test_a_replaced_object_shows_its_own_bytes(bench: Bench, repo: Path) -> None:
    other = git(repo, "hash-object", "-w", "--stdin", stdin="evil\n")
    git(repo, "replace", git(repo, "rev-parse", "HEAD:a.py"), other)
    assert git(repo, "show", "HEAD:a.py") == "evil"
    assert bench.git.open(str(repo), None, 7, "x").tree.read("a.py") == b"a = 1\n"


def test_a_git_file_that_leads_into_the_files_is_only_a_repository(bench: Bench, tmp_path: Path, marks: Path) -> None:
    inner = make_repo(tmp_path / "outer" / "vendor" / "evil")
    git(inner, "config", "core.fsmonitor", str(script(tmp_path / "program", marks)))
    (tmp_path / "outer" / ".git").write_text("gitdir: vendor/evil/.git\n")
    where = bench.git.open(str(tmp_path / "outer"), None, 7, "x")
    assert bench.git.commit(where, where.base, {"a.py": ""}, message())
    assert list(marks.iterdir()) == []


@pytest.mark.parametrize("url", ["ext::sh -c 'touch {marks}/ran'", "-oProxyCommand=touch {marks}/ran", "evil::x"])
def test_an_address_that_names_a_program_is_not_pushed_to(bench: Bench, repo: Path, marks: Path, url: str) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    commit = make_commit(bench.git, where, {"a.py": ""})
    git(repo, "config", "remote.origin.url", url.format(marks=marks))
    git(repo, "config", "protocol.ext.allow", "always")
    result = bench.git.push(where, commit.branch)
    assert (result.tried, result.pushed) == (True, False)
    assert "names a program" in result.detail
    assert list(marks.iterdir()) == []


def hostile_environment(marks: Path, program: Path) -> dict[str, str]:
    """Return variables that make git run programs, write files, or use another repository."""
    other = make_repo(marks.parent / "other")
    settings = {"core.hooksPath": str(program.parent), "core.fsmonitor": str(program), "alias.log": f"!{program}"}
    counted = {"GIT_CONFIG_COUNT": str(len(settings))}
    for n, (name, value) in enumerate(settings.items()):
        counted |= {f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value}
    programs = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_PAGER", "GIT_EDITOR",
                "GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "EDITOR")  # fmt: skip
    traces = ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE_PACKET", "GIT_TRACE_SETUP", "GIT_TRACE_CURL")
    return {
        "PATH": os.environ["PATH"], "HOME": str(marks.parent / "home"), **counted,
        **dict.fromkeys(programs, str(program)), **{name: str(marks / name) for name in traces},
        "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": str(marks / "index"),
        "GIT_OBJECT_DIRECTORY": str(marks / "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(other / ".git/objects"),
        "GIT_EXEC_PATH": str(program.parent), "GIT_TEMPLATE_DIR": str(program.parent), "GIT_NAMESPACE": "evil",
        "GIT_COMMON_DIR": str(other / ".git"), "GIT_CEILING_DIRECTORIES": "/", "GIT_ATTR_SOURCE": "HEAD",
    }  # fmt: skip


def test_nothing_of_the_daemons_environment_reaches_git(tmp_path: Path, repo: Path, marks: Path) -> None:
    environ = hostile_environment(marks, script(tmp_path / "evil" / "program", marks))
    remote = make_repo(tmp_path / "remote")
    git(repo, "config", "remote.origin.url", str(remote))
    bench = Bench(tmp_path)
    manager = GitManager(
        workspace=bench.workspace, author=Author(), auto_push=True, emit=bench.events.append, environ=environ
    )
    where = manager.open(str(repo), None, 7, "x")
    commit = make_commit(manager, where, {"a.py": "a = 2\n"})
    assert manager.push(where, commit.branch).pushed
    own = manager.open(None, None, 8, "own")
    mine = land(manager, own, {"b.py": "b\n"})
    manager.note(None, mine.id, "evidence")
    manager.close()
    assert git(repo, "show", f"{commit.branch}:a.py") == "a = 2"
    assert git(remote, "rev-parse", commit.branch) == commit.id
    assert sorted(path.name for path in marks.iterdir()) == []
    assert (bench.workspace / "b.py").read_text() == "b\n"
    subprocess.run(["git", "log"], cwd=repo, env=environ, capture_output=True, check=False)
    assert list(marks.iterdir()), "the trap does not work"


def test_a_push_runs_no_hook_of_either_end(bench: Bench, evil: Path, tmp_path: Path, marks: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    for name in HOOKS:
        script(remote / "hooks" / name, marks)
    with (evil / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {remote}\n\treceivepack = {tmp_path}/evil/program\n')
    where = bench.git.open(str(evil), "dev", 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "a = 2\n"})
    result = bench.git.push(where, commit.branch)
    assert result.pushed, result.detail
    assert git(remote, "rev-parse", commit.branch) == commit.id
    assert sorted(path.name for path in marks.iterdir()) == []


def test_objects_that_are_borrowed_from_elsewhere_are_read_and_nothing_is_written_there(
    bench: Bench, repo: Path, tmp_path: Path
) -> None:
    lender = make_repo(tmp_path / "lender", {"secret.txt": "s\n"})
    (repo / ".git" / "objects" / "info" / "alternates").write_text(f"{lender}/.git/objects\n")
    before = fingerprint(lender)
    where = bench.git.open(str(repo), None, 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "a = 2\n"})
    assert "secret.txt" not in bench.git.tree(where, commit.id).entries()
    assert fingerprint(lender) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_refused_until_its_owner_calls_it_safe(bench: Bench, repo: Path) -> None:
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    before = fingerprint(repo)
    with pytest.raises(GitError, match=r"belongs to another user \(uid 12345.*safe\.directory"):
        bench.git.open(str(repo), None, 7, "x")
    assert fingerprint(repo) == before
    home = bench.root / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = /elsewhere\n\tdirectory = {repo}\n")
    assert bench.git.open(str(repo), None, 7, "x").repo == repo
