"""Forged verdicts through the whole daemon: no forged answer is integrated, and honest ones are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from nightshift.core.tasks.verdicts import Label
from tests.hostile.verdicts.every import FORGERIES
from tests.hostile.verdicts.forgery import Kind, Suite
from tests.hostile.verdicts.right_answers import RIGHT
from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

LEAKS = [name for name, forgery in FORGERIES.items() if forgery.kind is Kind.LEAK]
ANSWERS = {name: (forgery.suite, forgery.files) for name, forgery in FORGERIES.items()}
ANSWERS |= {f"right-{name}": (suite, suite.honest) for name, suite in RIGHT.items()}


def model(phase: str, messages: list[dict[str, str]]) -> str:
    """Answer a task with the files of the answer whose number is in the task's description."""
    if phase != "CODING":
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]
    match = re.search(r"number (\d+)\.", "\n".join(message["content"] for message in messages))
    assert match, messages
    _, files = list(ANSWERS.values())[int(match[1])]
    kinds = {"py": "python", "mjs": "js", "cjs": "js"}
    blocks = [f"```{kinds[path.rpartition('.')[2]]} path={path}\n{text}```" for path, text in files.items()]
    return "\n\n".join(["Summary: Do what the tests ask for", *blocks])


def task(number: int, suite: Suite, repo: str) -> dict[str, Any]:
    return {
        "description": f"{suite.words} This is number {number}.",
        "language": str(suite.language),
        "tests": dict(suite.given),
        "repo": repo,
        "allow": ["js.child-process"],  # without this permission, the task waits for its owner
        "limits": {"iterations": 3, "attempts": 2},  # the second attempt sees what the first one reported
    }


@dataclass(frozen=True)
class Night:
    """The results of one daemon that got all answers.

    Attributes:
        tasks: The task of each answer, by the answer's name.
        prompts: The prompts of each answer's task, by the answer's name.
        integrated: The ids of the tasks that were integrated.
    """

    tasks: dict[str, dict[str, Any]]
    prompts: dict[str, str]
    integrated: frozenset[int]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Run all answers in one daemon, each as its own task in its own repository."""
    folder = tmp_path_factory.mktemp("forged")
    with WireServer(model) as server, Daemon(folder / "home", settings_for(server, HELD_OUT_SHARE="0.4")) as daemon:
        numbers = {}
        for number, (name, (suite, _)) in enumerate(ANSWERS.items()):
            repo = make_repo(folder / f"repo-{number}", suite.base)
            numbers[name] = daemon.submit(**task(number, suite, str(repo)))
        tasks = dict(zip(numbers, daemon.wait(*numbers.values(), within_s=900), strict=True))
        prompts = ["\n".join(message["content"] for message in request.messages) for request in server.requests]
        prompts_by_name = {
            name: "\n".join(text for text in prompts if f"This is number {number}." in text)
            for number, name in enumerate(ANSWERS)
        }
        commits = daemon.get("/api/commits?limit=500")["commits"]
        yield Night(tasks, prompts_by_name, frozenset(each["task_id"] for each in commits if each["integrated"]))


@pytest.mark.parametrize("name", [name for name, forgery in FORGERIES.items() if forgery.best is Label.DOUBTFUL])
def test_a_forged_answer_is_never_integrated(name: str, night: Night) -> None:
    assert night.tasks[name]["task_id"] not in night.integrated


@pytest.mark.parametrize("name", LEAKS)
def test_no_model_is_told_what_was_held_out(name: str, night: Night) -> None:
    assert not any(text in night.prompts[name] for text in FORGERIES[name].carries)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_is_committed(name: str, night: Night) -> None:
    task_row = night.tasks[f"right-{name}"]
    assert (task_row["status"], task_row["ending"]) == ("done", "committed"), task_row["reason"]
