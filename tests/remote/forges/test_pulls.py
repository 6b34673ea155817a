"""A finished task becomes one draft pull request, and comments on it become follow-up tasks on the same branch."""

from __future__ import annotations

import asyncio

import pytest

from nightshift.core.tasks.states import Status
from nightshift.remote.forges.sync import UNSAID
from tests.remote.forges.conftest import AT_ONE, Rig
from tests.support.forges.world import Check, Thread
from tests.support.git_repo import git


async def propose(rig: Rig) -> Thread:
    """Create an issue whose task is done and proposed; return its pull request."""
    rig.world.issue("Mend the answer of @all", "It must say right.")
    await rig.sync.look()
    await rig.work()
    await rig.sync.tell()
    (pull,) = rig.world.pulls.values()
    return pull


async def test_what_is_done_is_pushed_and_proposed_once_as_a_draft(rig: Rig) -> None:
    pull = await propose(rig)
    await rig.sync.look()
    rig.begin_again()
    await rig.sync.look()
    (task,) = rig.tasks()
    assert list(rig.world.pulls.values()) == [pull]
    assert (pull.branch, pull.base, pull.draft) == (task.branch, "main", True)
    assert rig.world.head(pull.branch) == task.commit
    assert "@all" not in pull.title
    for part in ("Closes #1", "## What was tested", f"nightshift verify {task.commit}"):
        assert part in pull.text
    (issue,) = rig.world.issues.values()
    (note,) = rig.comments(issue)
    assert f"{rig.connection.pull_sign}{pull.number}" in note.text


async def test_a_repository_without_drafts_gets_a_title_that_says_so(rig: Rig) -> None:
    rig.world.drafts = False
    pull = await propose(rig)
    assert pull.draft == (rig.kind != "github")
    assert pull.title.startswith(("Draft: ", "WIP: "))


async def test_a_comment_of_somebody_permitted_becomes_a_follow_up_on_the_branch(rig: Rig) -> None:
    pull = await propose(rig)
    rig.world.say(pull, "Looks good so far.")
    rig.world.say(pull, "/nightshift add an exclamation mark", by="mia")
    rig.world.say(pull, "/nightshift delete everything", by="mallory")
    rig.world.say(pull, "please `/nightshift` do nothing")
    rig.world.say(pull, "no, like that", path="answer.txt", line=1)
    rig.world.say(pull, "and me", by="mallory", path="answer.txt", line=1)
    await rig.sync.look()
    await rig.sync.look()
    _, first, second = rig.tasks()
    assert first.spec.description.startswith("add an exclamation mark\n")
    assert "answer.txt at line 1" in second.spec.description
    assert {task.spec.base for task in (first, second)} == {pull.branch}
    before = rig.world.head(pull.branch)
    done = await rig.work("right!\n")
    await rig.sync.tell()
    assert rig.world.head(pull.branch) == done.commit != before
    (note,) = rig.comments(pull)
    assert f"Task {first.id} is done" in note.text
    assert f"Task {second.id} waits for its turn" in note.text
    assert git(rig.world.remote or rig.repo, "show", f"{pull.branch}:answer.txt") == "right!"


async def test_a_comment_that_is_edited_or_deleted_before_its_task_begins_is_followed(rig: Rig) -> None:
    pull = await propose(rig)
    note = rig.world.say(pull, "/nightshift one")
    await rig.sync.look()
    note.text = "/nightshift two"
    await rig.sync.look()
    task = rig.tasks()[1]
    assert task.spec.description.startswith("two")
    pull.notes.remove(note)
    await rig.sync.look()
    stored_task = rig.store.queue.get(task.id)
    assert (stored_task.status, stored_task.reason) == (Status.CANCELLED, UNSAID)
    pull.notes.append(note)
    await rig.sync.look()
    assert rig.store.queue.get(task.id).status is Status.QUEUED


async def test_failed_checks_of_our_commit_become_one_task_when_all_have_ended(rig: Rig) -> None:
    pull = await propose(rig)
    head = rig.world.head(pull.branch)
    rig.world.checks[head] = [Check("unit tests", "failed", "answer.txt: expected right!"), Check("lint", "running")]
    await rig.sync.look()
    assert len(rig.tasks()) == 1
    rig.world.checks[head][1].state = "passed"
    await rig.sync.look()
    await rig.sync.look()
    _, mending = rig.tasks()
    assert "unit tests" in mending.spec.description
    assert "answer.txt: expected right!" in mending.spec.description
    assert "lint" not in mending.spec.description


@pytest.mark.parametrize("kind", ["gitlab"])
@pytest.mark.parametrize("status", ["waiting_for_callback", "manual"])
async def test_statuses_of_gitlab_that_end_by_themselves_are_waited_for(rig: Rig, status: str) -> None:
    pull = await propose(rig)
    head = rig.world.head(pull.branch)
    rig.world.checks[head] = [Check("unit tests", "failed"), Check("deploy", status)]
    await rig.sync.look()
    assert len(rig.tasks()) == (2 if status == "manual" else 1)


@AT_ONE
async def test_checks_that_go_on_failing_are_left_to_people_in_the_end(rig: Rig) -> None:
    pull = await propose(rig)
    for number in range(5):
        rig.world.checks[rig.world.head(pull.branch)] = [Check("unit tests", "failed")]
        await rig.sync.look()
        if rig.store.queue.find(Status.QUEUED):
            await rig.work(f"right {number}\n")
            await rig.sync.look()
    assert len(rig.tasks()) == 1 + 3


async def test_merged_closed_and_reopened_are_followed(rig: Rig) -> None:
    pull = await propose(rig)
    (issue,) = rig.world.issues.values()
    rig.world.say(pull, "/nightshift more")
    await rig.sync.look()
    followup = rig.tasks()[1]
    pull.state = "closed"
    await rig.sync.look()
    assert rig.store.queue.get(followup.id).status is Status.CANCELLED
    assert "closed without a merge" in rig.comments(issue)[0].text
    pull.state = "open"
    await rig.sync.look()
    assert rig.store.queue.get(followup.id).status is Status.QUEUED
    pull.state, issue.state = "merged", "closed"
    await rig.sync.look()
    assert "was merged" in rig.comments(issue)[0].text
    assert rig.store.queue.get(followup.id).status is Status.CANCELLED
    assert rig.sync.status().pulls == 0


@AT_ONE
async def test_a_push_that_fails_is_told_and_tried_again_later(rig: Rig) -> None:
    rig.world.issue("Mend the answer")
    await rig.sync.look()
    git(rig.repo, "remote", "set-url", "origin", "/nonexistent/remote.git")
    await rig.work()
    await rig.sync.tell()
    await rig.sync.tell()
    assert not rig.world.pulls
    (note,) = rig.sync.status().notes
    assert note.startswith("push of #1: ")
    assert sum(event.kind == "push_failed" for event in rig.events) == 1
    git(rig.repo, "remote", "set-url", "origin", str(rig.world.remote))
    rig.store.clock.advance(3600)
    await rig.sync.tell()
    assert len(rig.world.pulls) == 1
    assert rig.sync.status().notes == ()


async def test_dying_after_any_request_doubles_nothing_and_loses_nothing(rig: Rig) -> None:
    """Run the whole course, but cancel each check of the forge: first after one request, then after two, and so on."""
    rig.world.issue("Mend the answer")
    state = 0

    async def step() -> bool:
        """Check the forge once, but cancel the check after `state` requests; return True if the check finished."""
        nonlocal state
        loop, left = asyncio.get_running_loop(), state
        look = asyncio.ensure_future(rig.sync.look())

        def count(_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                loop.call_soon_threadsafe(look.cancel)

        rig.server.after = count
        await asyncio.wait({look})
        rig.server.after = lambda _: None
        state = 0 if not look.cancelled() else state + 1
        rig.begin_again()
        return not look.cancelled()

    async def lived_through() -> None:
        while not await step():
            assert state < 60

    await lived_through()
    await rig.work()
    await lived_through()
    (pull,) = rig.world.pulls.values()
    rig.world.say(pull, "/nightshift more")
    await lived_through()
    await rig.work("more\n")
    await lived_through()
    pull.state = "merged"
    await lived_through()
    (issue,) = rig.world.issues.values()
    assert [task.status for task in rig.tasks()] == [Status.DONE, Status.DONE]
    assert len(rig.world.pulls) == 1
    assert len(rig.comments(issue)) == 1
    assert len(rig.comments(pull)) == 1
    assert "was merged" in rig.comments(issue)[0].text
    assert git(rig.world.remote or rig.repo, "show", f"{pull.branch}:answer.txt") == "more"
