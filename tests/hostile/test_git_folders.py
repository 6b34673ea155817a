"""Folders in a tree that git takes for repositories.

Plain git runs the programs that such a folder names; Nightshift refuses the folder.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from nightshift.agent.draft import Draft
from nightshift.agent.replies import reader
from nightshift.agent.view import View, find_misplacement
from nightshift.core.code.paths import git_folder
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply, GitError, InvalidTask, MergeConflict, SandboxError
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import TaskSpec
from nightshift.sandbox import packing
from nightshift.verdict.languages import test_config
from tests.git.conftest import Bench, message
from tests.support.git_repo import git, make_repo, write
from tests.support.trees import TextTree

HEAD = "ref: refs/heads/main\n"
KEPT = {"docs/objects/kept": "", "docs/refs/kept": ""}


def config(marks: Path) -> str:
    settings = f'bare = false\n\tworktree = .\n\trepositoryformatversion = 0\n\tfsmonitor = "touch {marks}/ran; false"'
    return f"[core]\n\t{settings}\n"


def plant(marks: Path) -> dict[str, str]:
    return {"docs/HEAD": HEAD, "docs/config": config(marks), **KEPT}


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def runs_in_a_clone(repo: Path, marks: Path, folder: str, *settings: str) -> bool:
    """Check whether `git status`, called in this folder of a fresh clone, runs the planted program."""
    git(repo.parent, "clone", "-q", str(repo), "clone")
    with contextlib.suppress(AssertionError):  # git may fail once the program has run
        git(repo.parent / "clone" / folder, *settings, "status")
    return (marks / "ran").exists()


def test_git_in_a_clone_runs_what_such_a_folder_names(tmp_path: Path, marks: Path) -> None:
    repo = make_repo(tmp_path / "repo", plant(marks))
    assert runs_in_a_clone(repo, marks, "docs")


def take(change: dict[str, str], base: dict[str, str]) -> dict[str, str | None]:
    """Return the files of a model's reply that are accepted into its change."""
    entries = [{"path": path, "content": text} for path, text in change.items()]
    draft = Draft(TextTree(base), {}, TaskSpec(description="x"))
    with contextlib.suppress(BadReply):
        draft.take(reader.parse(Completion(text=json.dumps({"files": entries}), backend="b", model="m")))
    return draft.change


FORMS = {
    "a_bare_repository": {"docs/HEAD": HEAD, "docs/config": "", **KEPT},
    "in_other_letters": {"docs/head": HEAD, "docs/Objects/kept": "", "docs/REFS/kept": ""},
    "with_a_stream": {"docs/HEAD:x": HEAD, **KEPT},
    "that_leads_elsewhere": {"docs/HEAD": HEAD, "docs/commondir": "../.git\n"},
    "of_a_worktree": {"docs/HEAD": HEAD, "docs/gitdir": "x\n"},
    "without_its_references": {"docs/HEAD": HEAD, "docs/config": "", "docs/objects/kept": ""},
    "at_the_top": {"HEAD": HEAD, "config": "", "objects/kept": "", "refs/kept": ""},
}


@pytest.mark.parametrize("name", FORMS)
def test_no_door_takes_a_repository(name: str, tmp_path: Path) -> None:
    change = FORMS[name]
    for field in ("files", "tests"):
        with pytest.raises(InvalidTask):
            parse_spec({"description": "x", field: change})
    with pytest.raises(SandboxError):
        packing.pack((path, text.encode()) for path, text in change.items())
    for accepted in (take(change, {}), dict(test_config.sift(change, base=lambda _: None, given={}).staged)):
        assert git_folder(accepted, accepted) is None
    bench, repo = Bench(tmp_path / "bench"), make_repo(tmp_path / "repo")
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError, match="for a repository"):
        bench.git.commit(where, where.base, change, message())
    bench.git.close()


@pytest.mark.parametrize("last", ["docs/HEAD", "docs/refs/kept"])
def test_a_part_that_completes_what_is_there_is_refused_at_each_door(last: str, tmp_path: Path) -> None:
    base = {path: text for path, text in plant(tmp_path).items() if path != last}
    change = {last: HEAD, "a.py": "x = 1\n"}
    assert list(take(change, base)) == ["a.py"]
    sifted = test_config.sift(change, base=base.get, given={}, present=base)
    assert (list(sifted.staged), list(sifted.dropped)) == (["a.py"], [last])
    bench, repo = Bench(tmp_path / "bench"), make_repo(tmp_path / "repo", base)
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError, match="'docs'"):
        bench.git.commit(where, where.base, change, message())
    bench.git.close()


def test_tries_that_each_plant_a_part_do_not_add_up(tmp_path: Path) -> None:
    draft = Draft(TextTree({}), {}, TaskSpec(description="x"))
    for path, text in plant(tmp_path).items():
        entries = [{"path": path, "content": text or "x\n"}]
        draft.take(reader.parse(Completion(text=json.dumps({"files": entries}), backend="b", model="m")))
    assert git_folder(draft.change, draft.change) is None


def test_two_changes_that_make_a_repository_together_do_not_merge(tmp_path: Path, marks: Path) -> None:
    bench, repo = Bench(tmp_path / "bench"), make_repo(tmp_path / "repo")
    where = bench.git.open(str(repo), None, 7, "x")
    files = plant(marks)
    change = {path: files.pop(path) for path in sorted(KEPT)}
    mine = bench.git.commit(where, where.base, dict(change), message())
    assert mine
    write(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "The other half")
    with pytest.raises(MergeConflict, match="'docs' for a repository") as refused:
        bench.git.rebase(where, mine, git(repo, "rev-parse", "main"))
    assert set(refused.value.paths) == set(change)
    bench.git.close()


def test_nothing_is_taken_back_that_would_leave_a_repository(tmp_path: Path, marks: Path) -> None:
    files = plant(marks)
    repo = make_repo(tmp_path / "repo", {"docs/HEAD": files.pop("docs/HEAD"), "a.py": ""})
    git(repo, "rm", "-q", "docs/HEAD")
    git(repo, "commit", "-qm", "Take out one half")
    taken_out = git(repo, "rev-parse", "main")
    write(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Put in the other")
    bench = Bench(tmp_path / "bench")
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError, match="'docs' for a repository"):
        bench.git.revert(where, taken_out, where.base, message())
    bench.git.close()


def test_a_test_of_the_agents_own_completes_none() -> None:
    base = TextTree({"docs/HEAD": HEAD, "a.py": ""})
    assert "for a repository" in str(find_misplacement("docs/refs/test_a.py", View(base, {})))
    assert find_misplacement("docs/test_a.py", View(base, {})) is None


@pytest.mark.parametrize(
    "files",
    [
        {"docs/HEAD": "", "docs/a.md": ""}, {"docs/config": "", "docs/objects/a.py": "", "docs/refs/b.py": ""},
        {"a/HEAD": "", "b/objects/x": "", "b/refs/x": ""},
    ],
)  # fmt: skip
def test_what_is_no_repository_is_let_through(files: dict[str, str], tmp_path: Path) -> None:
    assert set(take(files, {})) == set(files)
    assert parse_spec({"description": "x", "files": files}).files == files
    bench, repo = Bench(tmp_path / "bench"), make_repo(tmp_path / "repo")
    where = bench.git.open(str(repo), None, 7, "x")
    assert bench.git.commit(where, where.base, files, message())
    bench.git.close()


def test_beside_a_repository_that_was_there_before_files_may_be_written(tmp_path: Path) -> None:
    base = {"tests/data/repo/HEAD": HEAD, "tests/data/repo/objects/kept": "", "tests/data/repo/refs/kept": ""}
    assert list(take({"tests/data/a.txt": "", "tests/data/repo/config": ""}, base)) == ["tests/data/a.txt"]
