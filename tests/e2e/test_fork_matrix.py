"""One step by several models: nothing of it lands until one is kept, and that one lands once, by the real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import RIGHT, Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer


class ThreeModels(Answers):
    """`big` is always wrong, `small` and `other` are right in their own words; the names are what requests ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.server: WireServer | None = None

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        assert self.server
        model = self.server.requests[-1].body["model"]
        self.wrong_first = 1000 if model == "big" else 0
        reply = super().__call__(phase, messages)
        return reply.replace("def total", f"# by {model}\ndef total") if phase == "CODING" else reply


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    answers = ThreeModels()
    with WireServer(answers, models=["big", "small", "other"]) as running:
        answers.server = running
        yield running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, server: WireServer) -> Iterator[Daemon]:
    settings = settings_for(server, MODEL_NAME="openai=big,openai=small,openai=other", WORKER_COUNT="1")
    with Daemon(tmp_path_factory.mktemp("matrix") / "home", settings) as running:
        yield running


def given_up(daemon: Daemon, number: int) -> int:
    """A task that the big model gave up after a try."""
    task = daemon.submit(**job(number), limits={"iterations": 1})
    (ended,) = daemon.wait(task)
    assert ended["ending"] == "gave_up", ended
    return task


def matrix(daemon: Daemon, task: int, *models: str) -> list[int]:
    status, made = daemon.ask("POST", f"/api/task/{task}/forks", {"models": list(models)})
    assert status == 201, made
    return [each["task_id"] for each in made["forks"]]


def sides(daemon: Daemon, task: int) -> dict[int, dict[str, Any]]:
    return {each["task_id"]: each for each in daemon.get(f"/api/task/{task}/forks")["sides"]}


def landed(daemon: Daemon) -> list[str]:
    """The subjects and tasks of the commits on the workspace's branch, the newest first."""
    log = git(daemon.home / "workspace", "log", "--format=%(trailers:key=Task,valueonly,separator=%x2C)")
    return [line for line in log.splitlines() if line]


def test_what_passes_stays_on_its_branch_until_it_is_kept(daemon: Daemon) -> None:
    source = given_up(daemon, 1)
    before = landed(daemon)
    small, other = matrix(daemon, source, "small", "other")
    ended = daemon.wait(small, other)
    assert [task["ending"] for task in ended] == ["committed", "committed"], ended
    assert all("until it is kept" in task["reason"] for task in ended)
    assert landed(daemon) == before
    found = sides(daemon, source)
    assert [(found[n]["held"], found[n]["integrated"], found[n]["kept_by"]) for n in (small, other)] == [
        (True, False, None),
        (True, False, None),
    ]
    status, kept = daemon.ask("POST", f"/api/task/{other}/keep")
    assert (status, kept["fork"], kept["source"], kept["ended"]) == (200, other, source, [])
    (done,) = daemon.wait(kept["task_id"])
    assert done["ending"] == "committed", done["reason"]
    assert landed(daemon) == [str(kept["task_id"]), *before]
    code = git(daemon.home / "workspace", "show", "HEAD:job_1.py")
    assert code == ("# by other\n" + RIGHT.format(n=1)).strip()
    assert daemon.get(f"/api/task/{done['task_id']}")["spent"]["model_calls"] == 0, "no model was asked again"
    assert sides(daemon, source)[other]["kept_by"] == kept["task_id"]
    unread = {each["task_id"] for each in daemon.get("/api/commits?unread=1")["commits"]}
    assert not unread & {small, other}, "only what landed is to be read"
    branches = git(daemon.home / "workspace", "branch", "--list", "agent/*")
    assert f"agent/{small}-" in branches, "what was not kept stays on its branch"


def test_keeping_twice_is_keeping_once_and_a_second_winner_is_refused(daemon: Daemon) -> None:
    source = given_up(daemon, 2)
    small, other = matrix(daemon, source, "small", "other")
    daemon.wait(small, other)
    first = daemon.ask("POST", f"/api/task/{small}/keep")[1]
    again = daemon.ask("POST", f"/api/task/{small}/keep")[1]
    assert again["task_id"] == first["task_id"]
    status, refused = daemon.ask("POST", f"/api/task/{other}/keep")
    assert status == 409
    assert f"fork {small} is kept already, by task {first['task_id']}" in refused["error"]
    daemon.wait(first["task_id"])
    before = landed(daemon)
    assert daemon.ask("POST", f"/api/task/{first['task_id']}/revert", {})[0] == 200
    second = daemon.ask("POST", f"/api/task/{other}/keep")[1]
    (done,) = daemon.wait(second["task_id"])
    assert done["ending"] == "committed", "what was reverted leaves the place to another"
    assert landed(daemon)[0] == str(second["task_id"])
    assert len(landed(daemon)) == len(before) + 1


def test_main_that_moved_is_rebased_on_and_forks_that_run_are_ended(daemon: Daemon, server: WireServer) -> None:
    source = given_up(daemon, 3)
    (small,) = matrix(daemon, source, "small")
    daemon.wait(small)
    daemon.wait(daemon.submit(**job(4), limits={"iterations": 3}))  # main moves on, by another fork's source
    status, _ = daemon.ask("POST", "/api/pause")
    assert status == 200
    (waits,) = matrix(daemon, source, "big")
    kept = daemon.ask("POST", f"/api/task/{small}/keep")[1]
    assert kept["ended"] == [waits]
    assert daemon.get(f"/api/task/{waits}")["status"] == "cancelled"
    daemon.ask("POST", "/api/resume")
    (done,) = daemon.wait(kept["task_id"])
    assert done["ending"] == "committed", done["reason"]
    assert landed(daemon)[0] == str(kept["task_id"])


def test_a_kill_between_keeping_and_landing_loses_nothing_and_lands_once(tmp_path: Path, server: WireServer) -> None:
    settings = settings_for(server, MODEL_NAME="openai=big,openai=small,openai=other", WORKER_COUNT="1")
    with Daemon(tmp_path / "home", settings) as daemon:
        source = given_up(daemon, 5)
        small, other = matrix(daemon, source, "small", "other")
        daemon.wait(small, other)
        before = landed(daemon)
        kept = daemon.ask("POST", f"/api/task/{small}/keep")[1]["task_id"]
        daemon.kill()
        daemon.start()
        assert daemon.ask("POST", f"/api/task/{small}/keep")[1]["task_id"] == kept
        until(lambda: bool(daemon.get(f"/api/task/{kept}/timeline")["tries"]) or _is_over(daemon, kept), 120)
        daemon.kill()  # while it is judged or lands
        daemon.start()
        (done,) = daemon.wait(kept)
        assert done["ending"] == "committed", done
        assert landed(daemon) == [str(kept), *before]
        assert daemon.ask("POST", f"/api/task/{other}/keep")[0] == 409


def _is_over(daemon: Daemon, task: int) -> bool:
    return daemon.get(f"/api/task/{task}")["status"] in {"done", "failed", "cancelled"}


def test_what_cannot_be_forked_or_kept_says_why(daemon: Daemon) -> None:
    source = given_up(daemon, 6)
    asked = f"/api/task/{source}/forks"
    for body, field in (
        ({"models": []}, "models"),
        ({"models": ["small", "gpt-9"]}, "models.1"),
        ({"models": ["small", "openai=small"]}, "models"),
    ):
        status, refused = daemon.ask("POST", asked, body)
        assert (status, f"{field}: " in refused["error"]) == (400, True), refused
    assert daemon.get(f"/api/task/{source}/forks")["sides"][1:] == [], "all or none"
    status, refused = daemon.ask("POST", f"/api/task/{source}/keep")
    assert (status, "no fork that waits to be kept" in refused["error"]) == (409, True)
    (wrong,) = matrix(daemon, source, "big")
    daemon.wait(wrong)
    status, refused = daemon.ask("POST", f"/api/task/{wrong}/keep")
    assert (status, "only a fork that passed can be kept" in refused["error"]) == (409, True)


def test_the_models_come_with_what_they_cost_so_far(daemon: Daemon) -> None:
    given_up(daemon, 7)
    found = daemon.get("/api/task/1/fork-models")
    models = {each["name"]: each for each in found["models"]}
    assert set(models) == {"openai=big", "openai=small", "openai=other"}
    assert models["openai=big"]["attempts"] >= 1
    assert models["openai=big"]["solved"] == 0
    assert models["openai=big"]["seconds"] is not None
    assert found["left_usd"] is None


def test_the_command_line_forks_by_several_models_and_keeps_one(daemon: Daemon) -> None:
    source = given_up(daemon, 8)
    made = daemon.cli("fork", str(source), "--models", "small,other")
    assert made.returncode == 0, made.stderr
    assert "by openai=small" in made.stdout
    forks = [each["task_id"] for each in daemon.get(f"/api/task/{source}/timeline")["forks"]]
    daemon.wait(*forks)
    kept = daemon.cli("keep", str(forks[0]))
    assert kept.returncode == 0, kept.stderr
    assert f"lands the work of fork {forks[0]}" in kept.stdout
    assert daemon.cli("fork", str(source), "--models", "a", "--model", "b").returncode == 2
    assert daemon.cli("keep", str(source)).returncode == 5
