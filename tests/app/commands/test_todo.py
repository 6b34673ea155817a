"""Each `TODO(nightshift): …` comment becomes one task, through a command or through a hook after each commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.program import SCRIPT
from nightshift.core.tasks.task import Task
from nightshift.server.context import AppContext
from tests.support.git_repo import OWNER, git, make_repo, write
from tests.support.home import Home

SOURCE = """\
def double(x):
    # TODO(nightshift): Let it take texts as well,
    #     and lists.
    # It is old.
    return 2 * x
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", {"double.py": SOURCE})


def commit(repo: Path, **files: str) -> None:
    write(repo, {name.replace("_", "."): text for name, text in files.items()})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "More")


def tasks(home: Home) -> list[Task]:
    context = home.context()
    queued = context.queue.find(limit=500)[::-1]
    context.database.close()
    return queued


def test_a_comment_becomes_one_task_with_or_without_a_daemon(home: Home, context: AppContext, repo: Path) -> None:
    first = home.cli("todo", str(repo))
    assert (first.code, first.out) == (0, "task 1: Let it take texts as well, and lists. (double.py)\n")
    (task,) = context.queue.find()
    assert task.spec.description.startswith(
        "Let it take texts as well, and lists.\n\n(A `TODO(nightshift)` comment in "
    )
    assert (task.spec.repo, task.spec.base) == (str(repo), "main")
    again = home.cli("todo", str(repo))
    assert (again.code, again.out) == (0, f"1 TODO(nightshift): comment in {repo}, none of them new\n")


def test_it_may_move_in_its_file_and_to_another_branch_and_its_task_may_be_over(home: Home, repo: Path) -> None:
    assert home.cli("todo", str(repo)).code == 0
    assert home.cli("cancel", "1").code == 0
    commit(repo, double_py="import os\n\n\n" + SOURCE)
    git(repo, "switch", "-q", "-c", "later")
    listing = home.cli("todo", str(repo / "."), "--json").json
    assert (listing["found"], listing["new"], listing["branch"]) == (1, [], "later")
    commit(repo, other_py=SOURCE, double_py=SOURCE.replace("lists", "sets"))
    assert [row["path"] for row in home.cli("todo", str(repo), "--json").json["new"]] == ["double.py", "other.py"]
    assert len(tasks(home)) == 3


def test_what_was_filed_before_a_kill_is_not_filed_again(home: Home, repo: Path) -> None:
    commit(repo, many_py="".join(f"# TODO(nightshift): number {number}\n" for number in range(150)))
    command = [sys.executable, str(SCRIPT), "todo", str(repo), "--home", str(home.path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        context = home.context()
        while process.poll() is None and len(context.queue.find()) < 3:
            pass
        process.kill()
    before = len(context.queue.find(limit=500))
    context.database.close()
    assert 3 <= before < 151
    assert len(home.cli("todo", str(repo), "--json").json["new"]) == 151 - before
    assert len({task.spec.key for task in tasks(home)}) == len(tasks(home)) == 151


def test_what_is_no_comment_and_what_is_not_committed_is_passed_over(home: Home, repo: Path) -> None:
    hostile = 'x = "TODO(nightshift): not I"\ny = 1\n# TODO(nightshift): …\n# TODO(someone): nor I\n'
    commit(
        repo, double_py=hostile, page_html="<!-- TODO(nightshift): a page -->\n",
        a_c="int x; /* TODO(nightshift): C */\n",
        b_sql="-- TODO(nightshift): \x1b[31mred\n", data_bin="\0# TODO(nightshift): binary\n",
    )  # fmt: skip
    write(repo, {"new.py": "# TODO(nightshift): not committed\n"})
    comments = home.cli("todo", str(repo), "--json").json["new"]
    assert [(row["path"], row["text"]) for row in comments] == [
        ("a.c", "C"), ("b.sql", "\\x1b[31mred"), ("page.html", "a page"),
    ]  # fmt: skip


def environment(home: Home, **more: str) -> dict[str, str]:
    return {**OWNER, "PATH": os.environ["PATH"], "HOME": str(home.path), **more}


@pytest.mark.parametrize("hooks", ["", ".githooks"])
def test_the_hook_files_after_each_commit_also_of_a_linked_worktree(home: Home, repo: Path, hooks: str) -> None:
    if hooks:
        git(repo, "config", "core.hooksPath", hooks)
    written = home.cli("todo", "--install-hook", str(repo))
    assert written.code == 0
    assert home.cli("todo", "--install-hook", str(repo)).code == 0
    hook = repo / (hooks or ".git/hooks") / "post-commit"
    assert hook.stat().st_mode & 0o111
    assert bool(hooks) == ("each repository that uses it" in written.err)
    git(repo, "worktree", "add", "-q", "-b", "side", str(repo.parent / "side"))
    for folder, word in ((repo, "one"), (repo.parent / "side", "two")):
        write(folder, {"more.py": f"# TODO(nightshift): {word}\n"})
        if hooks:
            write(folder, {f"{hooks}/post-commit": hook.read_text()})
            (folder / hooks / "post-commit").chmod(0o755)
        git(folder, "add", "-A", env=environment(home))
        git(folder, "commit", "-q", "-m", "More", env=environment(home))
    filed = [(task.spec.description.partition("\n")[0], task.spec.base) for task in tasks(home)]
    assert filed == [("Let it take texts as well, and lists.", "main"), ("one", "main"), ("two", "side")]
