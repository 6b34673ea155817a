"""Forged verdicts through the whole daemon: no forged answer is integrated, and honest ones are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nightshift.core.tasks.verdicts import Label
from tests.hostile.verdicts.every import FORGERIES, RIGHT
from tests.hostile.verdicts.forgery import Forgery, Suite
from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

ONE_OF_EACH_CLASS: dict[tuple[str, str], Forgery] = {
    (forgery.kind, forgery.language): forgery
    for forgery in reversed(FORGERIES.values())
    if forgery.best is Label.DOUBTFUL
}
HONEST = (
    "python-sum_cases", "python-sum_rule", "python-counts", "python-points", "python-held_two", "python-enums",
    "javascript-sums", "javascript-letters",
)  # fmt: skip
ANSWERS = [(forgery.suite, forgery.files) for forgery in ONE_OF_EACH_CLASS.values()]
ANSWERS += [(RIGHT[name], RIGHT[name].honest) for name in HONEST]


def model(phase: str, messages: list[dict[str, str]]) -> str:
    """Answer a task with the files of the answer whose number is in the task's description."""
    if phase != "CODING":
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]
    match = re.search(r"number (\d+)\.", "\n".join(message["content"] for message in messages))
    assert match, messages
    _, files = ANSWERS[int(match[1])]
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
        "limits": {"iterations": 2, "attempts": 2},  # the second attempt sees what the first one reported
    }


def test_one_forgery_of_each_class_is_refused_and_tells_nothing_and_honest_answers_are_committed(
    tmp_path: Path,
) -> None:
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, HELD_OUT_SHARE="0.4")) as daemon:
        numbers = [
            daemon.submit(**task(number, suite, str(make_repo(tmp_path / f"repo-{number}", suite.base))))
            for number, (suite, _) in enumerate(ANSWERS)
        ]
        tasks = daemon.wait(*numbers, within_s=600)
        prompts = ["\n".join(message["content"] for message in request.messages) for request in server.requests]
        commits = daemon.get("/api/commits?limit=500")["commits"]
    integrated = {commit["task_id"] for commit in commits if commit["integrated"]}
    forgeries = list(ONE_OF_EACH_CLASS.values())
    assert [forgery.id for number, forgery in enumerate(forgeries) if numbers[number] in integrated] == []
    for number, forgery in enumerate(forgeries):
        shown = "\n".join(text for text in prompts if f"This is number {number}." in text)
        assert not any(text in shown for text in forgery.carries), forgery.id
    ends = dict(zip(HONEST, tasks[len(forgeries) :], strict=True))
    assert {name: each["reason"] for name, each in ends.items() if each["ending"] != "committed"} == {}
