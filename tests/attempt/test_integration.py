"""Integration: when a merged tree is judged again, when that is unnecessary, and when the task continues instead."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt.evidence import read_note
from nightshift.attempt.integration import Integration, Landed
from nightshift.core.events import Emitter, Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Change, Task
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.held.holding import hold
from tests.support.git_repo import git, make_repo
from tests.support.landing_site import Site, open_site

ADD = "def add(a, b):\n    return a + b\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
TEST_DOUBLE = "from calc import add\n\n\ndef test_double():\n    assert add(4, 4) == 8\n"
OTHER = "def shout(text):\n    return text.upper()\n"
TEST_OTHER = "from other import shout\n\n\ndef test_shout():\n    assert shout('a') == 'A'\n"


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def test_a_merged_tree_is_not_judged_again_when_the_tests_see_the_same_bytes(site: Site) -> None:
    first, second = site.task(1, tests={"test_calc.py": TEST_ADD}), site.task(2, tests={"test_other.py": TEST_OTHER})
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"calc.py": ADD})
    second_state = await site.judged(at_second, second, {"other.py": OTHER})
    runs = len(site.suite.jobs)
    await site.lands(at_first, first, first_state)
    landed = await site.lands(at_second, second, second_state)
    assert len(site.suite.jobs) == runs
    tree = site.parts.git.tree(None, site.parts.git.resolve(None, "main"))
    assert sorted(tree.entries()) == ["calc.py", "other.py", "test_calc.py", "test_other.py"]
    assert tree.commit == landed.commit


async def test_it_is_judged_again_when_newer_work_changed_what_the_tests_see(site: Site) -> None:
    await site.commit(1, {"calc.py": ADD}, tests={"test_calc.py": TEST_ADD})
    first, second = site.task(2, tests={"test_double.py": TEST_DOUBLE}), site.task(3)
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"more.py": "X = 1\n"})
    faster = "def add(a, b):\n    total = a + b\n    return total\n"
    second_state = await site.judged(at_second, site.task(3, tests={"test_calc.py": TEST_ADD}), {"calc.py": faster})
    await site.lands(at_second, second, second_state)
    runs = len(site.suite.jobs)
    await site.lands(at_first, first, first_state)
    assert len(site.suite.jobs) == runs + 1
    assert [event.kind for event in site.events].count(Kind.SUITE_JUDGED) == 1


async def test_work_that_no_longer_does_what_its_words_say_together_with_newer_work_goes_back(site: Site) -> None:
    tests = {"test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 0) == 1\n"}
    calc = "from sign import SIGN\n\n\ndef add(a, b):\n    return a + SIGN * b\n"
    base = site.task(1, tests=tests)
    await site.land(
        at := site.open(base), base, await site.judged(at, base, {"calc.py": calc, "sign.py": "SIGN = 0\n"})
    )
    first = site.task(2, tests=tests)
    second = site.task(3, tests=tests, description="Mend sign.py: in calc.py, add(1, 2) == 3")
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"calc.py": calc.replace("SIGN *", "2 * SIGN *")})
    second_state = await site.judged(at_second, second, {"sign.py": "SIGN = 1\n"})
    await site.lands(at_first, first, first_state)
    end = await site.reopens(at_second, second, second_state)
    assert end.why == "together with newer work: the words of the task say add(1, 2) == 3; the change gives 5"
    assert end.state.phase is Phase.REFLECTING
    assert end.state.unmet


async def test_an_older_test_that_only_the_merge_breaks_is_not_taken_for_one_that_failed_before(site: Site) -> None:
    both = "from x import X\nfrom y import Y\n\n\ndef test_both():\n    assert X + Y < 4\n"
    await site.commit(1, {"x.py": "X = 1\n", "y.py": "Y = 1\n"}, tests={"test_both.py": both})
    first = site.task(2, tests={"test_x.py": "from x import X\n\n\ndef test_x():\n    assert X == 2\n"})
    second = site.task(3, tests={"test_y.py": "from y import Y\n\n\ndef test_y():\n    assert Y == 2\n"})
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"x.py": "X = 2\n"})
    second_state = await site.judged(at_second, second, {"y.py": "Y = 2\n"})
    await site.lands(at_first, first, first_state)
    end = await site.reopens(at_second, second, second_state)
    assert end.state.verdict
    assert end.state.verdict.failing == {"test_both.py::test_both"}


LINES = [f"L{n} = {n}\n" for n in range(12)]


def edit(**lines: str) -> str:
    """Return the long file with the lines of these numbers replaced."""
    return "".join(lines.get(f"L{n}", line) for n, line in enumerate(LINES))


@pytest.mark.parametrize("project", [None, "shop"])
async def test_edits_of_both_sides_are_in_the_files_that_are_kept_after_a_conflict_in_another(
    site: Site, project: str | None
) -> None:
    def at(task: Task) -> Workspace:
        return site.parts.git.within(site.open(task), Scope(project=project))

    seed: Change = {"calc.py": ADD, "long.py": edit(), "gone.py": "", "moved.py": edit(), "taken.py": edit()}
    begun = replace(AttemptState(phase=Phase.COMMIT, base=at(site.task(1)).base, project=project), change=seed)
    await site.lands(at(site.task(1)), site.task(1), begun)
    theirs, mine = site.task(2), site.task(3)
    at_theirs, at_mine = at(theirs), at(mine)
    their_state = replace(
        begun,
        base=at_theirs.base,
        change={
            "calc.py": ADD + "# theirs\n",
            "long.py": edit(L1="theirs = 1\n"),
            "moved.py": None,
            "new_name.py": edit(L1="theirs = 1\n"),
            "taken.py": None,
        },
    )
    my_state = replace(
        begun,
        base=at_mine.base,
        change={
            "calc.py": ADD + "# mine\n",
            "long.py": edit(L10="mine = 10\n"),
            "gone.py": None,
            "moved.py": edit(L10="mine = 10\n"),
            "taken.py": edit(L3="mine = 3\n"),
        },
        own_tests={"test_new.py": TEST_ADD},
    )
    await site.lands(at_theirs, theirs, their_state)
    again = await site.reopens(at_mine, mine, my_state)
    both = edit(L1="theirs = 1\n", L10="mine = 10\n")
    assert dict(again.state.change) == {"gone.py": None, "long.py": both, "new_name.py": both}
    assert again.state.own_tests == my_state.own_tests
    assert again.state.base == site.parts.git.resolve(None, "main")
    wanted: Change = {**again.state.change, "calc.py": ADD + "# theirs\n# mine\n"}
    await site.lands(at(mine), mine, replace(again.state, change=wanted))
    end = at(mine).tree
    assert sorted(end.entries()) == ["calc.py", "long.py", "new_name.py", "test_new.py"]
    assert [end.read(path).decode() for path in ("long.py", "new_name.py")] == [both, both]


async def test_given_tests_keep_the_edits_of_newer_work_after_a_conflict_in_another_file(site: Site) -> None:
    cases = [f"def test_{n}():\n    assert add({n}, 1) == {n + 1}\n" for n in range(6)]
    tests = "\n\n".join(["from calc import add\n", *cases])
    await site.commit(1, {"calc.py": ADD}, tests={"test_calc.py": tests})
    theirs, mine = tests.replace("add(0, 1)", "add(1, 0)"), tests.replace("add(5, 1)", "add(1, 5)")
    first, second = site.task(2, tests={"test_calc.py": theirs}), site.task(3, tests={"test_calc.py": mine})
    at_first, at_second = site.open(first), site.open(second)
    first_state = await site.judged(at_first, first, {"calc.py": ADD.replace("a + b", "sum((a, b))")})
    second_state = await site.judged(at_second, second, {"calc.py": ADD.replace("a + b", "b + a")})
    await site.lands(at_first, first, first_state)
    end = await site.reopens(at_second, second, second_state)
    both = theirs.replace("add(5, 1)", "add(1, 5)")
    assert dict(end.state.merged_tests) == {"test_calc.py": both}
    again = replace(end.state, change={"calc.py": ADD.replace("a + b", "int(a + b)")}, phase=Phase.COMMIT)
    await site.lands(site.parts.git.at(at_second, again.base), second, again)
    assert site.open(second).tree.read("test_calc.py").decode() == both


async def test_an_edit_of_a_file_that_newer_work_renamed_is_judged_under_its_new_name(site: Site) -> None:
    body = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(12))
    test = "from {} import f1, f11\n\n\ndef test_f():\n    assert f11() == 11 and f1() == {}\n"
    await site.commit(1, {"old.py": body}, tests={"test_f.py": test.format("old", 1)})
    renaming, editing = site.task(2, tests={"test_f.py": test.format("new", 1)}), site.task(3)
    at_renaming, at_editing = site.open(renaming), site.open(editing)
    renaming_state = await site.judged(at_renaming, renaming, {"old.py": None, "new.py": body})
    edit = {"old.py": body.replace("return 10\n", "return 5 + 5\n"), "more.py": "X = 1\n"}
    work = replace(renaming_state, base=at_editing.base, change=edit, verdict=None)
    await site.lands(at_renaming, renaming, renaming_state)
    await site.lands(at_editing, editing, work)
    assert dict(site.suite.jobs[-1].change) == {"new.py": edit["old.py"], "more.py": "X = 1\n"}
    assert site.open(editing).tree.read("new.py").decode() == edit["old.py"]
    (entry, _, _) = site.parts.state.commits(5)
    assert [file.path for file in entry.files or ()] == ["more.py", "new.py"]
    note = site.parts.git.read_note(None, entry.commit)
    assert read_note(note or "").changed == ("more.py", "new.py")


async def test_a_change_that_changes_nothing_lands_without_a_commit(site: Site) -> None:
    task = site.task(1)
    work = AttemptState(phase=Phase.COMMIT, base=site.open(task).base)
    landed = await site.land(site.open(task), task, work)
    assert landed == Landed(reason="the tests pass already; nothing had to be changed")


async def test_a_commit_that_an_earlier_daemon_made_is_found_and_not_made_again(site: Site) -> None:
    task = site.task(1, tests={"test_calc.py": TEST_ADD})
    workspace = site.open(task)
    work = await site.judged(workspace, task, {"calc.py": ADD})
    before = await site.land(workspace, task, work)
    again = await Integration(task, site.parts, Emitter(site.events.append), resumed=True).land(workspace, work)
    assert isinstance(before, Landed)
    assert isinstance(again, Landed)
    assert before.commit == again.commit == site.parts.git.resolve(None, "main")


async def test_a_merged_tree_is_judged_by_what_was_held_out_as_well(site: Site) -> None:
    checks = "".join(f"    assert add({n}, {n + 5}) == {2 * n + 5}\n" for n in range(11, 17))
    tests = {"test_sum.py": f"from calc import add\n\n\ndef test_sum():\n{checks}"}
    await site.commit(1, {"calc.py": ADD}, tests={"test_calc.py": TEST_ADD})
    mine, theirs = site.task(2, tests=tests), site.task(3, tests={"test_calc.py": TEST_ADD})
    at_mine, at_theirs = site.open(mine), site.open(theirs)
    held = hold(mine.spec, at_mine.tree.entries(), 0.25)
    assert held.shown
    my_state = await site.judged(at_mine, mine, {"more.py": "X = 1\n"})
    their_state = await site.judged(
        at_theirs, theirs, {"calc.py": "def add(a, b):\n    total = a + b\n    return total\n"}
    )
    await site.lands(at_theirs, theirs, their_state)
    landed = await Integration(mine, site.parts, Emitter(site.events.append), held=held).land(at_mine, my_state)
    assert isinstance(landed, Landed)
    assert site.suite.jobs[-1].held == held
    note = json.loads(git(at_mine.repo, "notes", "--ref=nightshift", "show", str(landed.commit)))
    assert (note["evidence"]["label"], note["evidence"]["held_out"]) == ("verified", len(note["held"]["cases"]))
    assert note["held"]["shown"] == {}


@pytest.mark.parametrize(("words", "commits"), [("Add add()", False), ("Write tests for calc.py", True)])
async def test_tests_that_show_that_a_task_is_done_already_are_committed_only_where_it_asks_for_tests(
    site: Site, words: str, commits: bool
) -> None:
    first = site.task(1, tests={"test_calc.py": TEST_ADD})
    workspace = site.open(first)
    await site.land(workspace, first, await site.judged(workspace, first, {"calc.py": ADD}))
    task = replace(site.task(2), spec=parse_spec({"description": words}))
    again = site.open(task)
    job = SuiteJob(base=again.tree, change={}, own={"test_double.py": TEST_DOUBLE}, whole_tree=False)
    verdict = await site.suite.judge(job)
    assert verdict.passed, verdict.reason
    state = AttemptState(phase=Phase.COMMIT, base=again.base, own_tests=job.own, verdict=verdict, summary="it adds")
    landed = await site.lands(again, task, state)
    assert (landed.commit is not None) is commits
    if not commits:
        assert landed.reason == "the tests pass already; nothing had to be changed: it adds"


@pytest.mark.parametrize(
    ("setting", "newer", "looked_at", "left"),
    [(True, False, False, False), (True, False, True, True), (False, True, False, True)],
    ids=["as judged", "checked out", "off, onto newer work"],
)
async def test_the_branch_of_what_is_integrated_goes_if_a_setting_says_so(
    tmp_path: Path, setting: bool, newer: bool, looked_at: bool, left: bool
) -> None:
    repo = make_repo(tmp_path / "shop", {"README.md": "shop\n"})
    git(repo, "branch", "dev")
    async with open_site(tmp_path / "home", git_remove_branches=setting, git_integrate=True) as site:
        first = site.task(1, repo=str(repo), base="dev", tests={"test_calc.py": TEST_ADD})
        second = site.task(2, repo=str(repo), base="dev")
        at_first, at_second = site.open(first), site.open(second)
        work = await site.judged(at_first, first, {"calc.py": ADD})
        if newer:
            await site.land(at_second, second, replace(work, change={"other.py": OTHER}, verdict=None))

        def look(event: Event) -> None:
            if looked_at and event.kind is Kind.COMMITTED:
                git(repo, "checkout", "-q", at_first.branch)

        site.on_event = look
        end = await site.lands(at_first, first, work)
        assert end.integrated
        assert git(repo, "rev-parse", "dev") == end.commit
        assert (at_first.branch in git(repo, "branch", "--format=%(refname:short)").split()) == left
        commit = site.parts.git.find_commit(at_first, 1)
        assert commit
        assert commit.id == end.commit
