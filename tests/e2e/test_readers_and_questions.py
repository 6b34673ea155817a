"""Reviewers of changes and vague descriptions, end to end.

Changes with findings go back to the author. The owner answers a question about a description, or its default is
assumed.
"""

from __future__ import annotations

import json

import pytest

from tests.support.answers import RIGHT, TESTS, Answers
from tests.support.daemon import Daemon, git, until
from tests.support.wire_server import WireServer

BOUNDARY = "the boundary is counted, though only what is above it should be"
VAGUE = "Improve job_3.py somehow"
QUESTION, ASSUMED, ANSWER = "Shall the boundary count?", "no, only what lies above", "no, never the boundary itself"


class Readers(Answers):
    """Answers REVIEW and AUDIT with findings, such as a wrong boundary, and CLARIFYING with a question to the owner."""

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase not in {"REVIEW", "AUDIT", "CLARIFYING"}:
            return super().__call__(phase, messages)
        self.counts[0, phase] += 1
        if phase == "CLARIFYING":
            question = {"question": QUESTION, "default": ASSUMED}
            return json.dumps({"goal": "total() in job_3.py sums what is above 3", "questions": [question]})
        if phase == "REVIEW" and ">= 1" in messages[-1]["content"]:
            return json.dumps({"findings": [{**self.finding("high", BOUNDARY), "reader": "review"}]})
        low = {**self.finding("low", "a name that says little"), "reader": "audit"}
        return json.dumps({"findings": [low]})

    @staticmethod
    def finding(severity: str, reason: str) -> dict[str, object]:
        return {"file": "job_1.py", "line": 2, "severity": severity, "reason": reason, "fix": "compare strictly"}


@pytest.fixture
def answers() -> Readers:
    return Readers(wrong_first=1)


def find(daemon: Daemon, task_id: int) -> list[tuple[str, str, str]]:
    """Return the severity, location and reason of each reviewer finding in a task's first attempt."""
    course = daemon.get(f"/api/task/{task_id}/timeline")
    numbers = [step["step_no"] for each in course["tries"] for step in each["steps"] if step["findings"]]
    steps = [daemon.get(f"/api/task/{task_id}/step/1/{number}") for number in numbers]
    return [(row["severity"], row["place"], row["reason"]) for step in steps for row in step["findings"]]


def test_what_a_reviewer_sends_back_is_mended_before_a_test_runs(
    daemon: Daemon, server: WireServer, answers: Readers
) -> None:
    (daemon.home / "test_job_1.py").write_text(TESTS.format(n=1))
    sent = daemon.cli(
        "--enable-review", "--enable-audit", "--tests", "test_job_1.py", "Write total() in job_1.py", "--json"
    )
    assert sent.returncode == 0, sent.stderr
    (task,) = daemon.wait(json.loads(sent.stdout)["task_id"])
    assert task["ending"] == "committed"
    phases = [[f"{run['phase']} {run['outcome']}" for run in row["phases"]] for row in task["iterations"]]
    assert phases == [
        ["PLANNING ok", "CODING ok", "REVIEW redo", "REFLECTING redo"],
        ["CODING ok", "REVIEW ok", "AUDIT ok", "TESTING ok"],
    ]
    assert (answers.counts[0, "REVIEW"], answers.counts[0, "AUDIT"]) == (2, 0), "one question serves both readers"
    again = [request for request in server.requests if request.phase == "CODING"][1]
    assert BOUNDARY in again.messages[-1]["content"]
    read = [str(request.messages) for request in server.requests if request.phase in {"REVIEW", "AUDIT"}]
    assert not [text for text in read if "Sum what is above" in text], "readers do not see the author's own words"
    findings = find(daemon, task["task_id"])
    assert findings == [("high", "job_1.py:2", BOUNDARY), ("low", "job_1.py:2", "a name that says little")]


def test_a_vague_task_waits_for_its_owner_and_goes_on_with_his_answer(daemon: Daemon, server: WireServer) -> None:
    task_id = daemon.submit(description=VAGUE, clarify=True)
    until(lambda: daemon.get(f"/api/task/{task_id}")["status"] == "waiting")
    (asked,) = json.loads(daemon.cli("--approvals", "--json").stdout)["approvals"]
    assert (asked["question"], asked["default"]) == (QUESTION, ASSUMED)
    assert f": {ASSUMED}" in daemon.cli("--approvals").stdout
    result = daemon.cli("--answer", str(asked["approval_id"]), ANSWER)
    assert (result.returncode, result.stderr) == (0, "")
    (task,) = daemon.wait(task_id)
    assert task["ending"] == "committed"
    assert git(daemon.home / "workspace", "show", f"{task['commit']}:job_3.py") + "\n" == RIGHT.format(n=3)
    prompts = [str(request.messages) for request in server.requests if request.phase in {"PLANNING", "CODING"}]
    assert prompts
    assert all(ANSWER in text for text in prompts)
    assert [request.phase for request in server.requests].count("CLARIFYING") == 1
    (decided,) = daemon.get(f"/api/task/{task_id}/timeline")["asks"]
    assert (decided["answer"], decided["answered_by"]) == (ANSWER, "owner")
    learned = daemon.cli("--export-memory", "-").stdout
    failure, pattern = map(json.loads, learned.splitlines())
    assert (failure["kind"], pattern["kind"], pattern["problem"]) == ("failure", "pattern", VAGUE)
    taken = daemon.cli("--import-memory", "-", "--json", stdin=learned + learned.replace("job_3", "job_9"))
    assert json.loads(taken.stdout) == {"file": "-", "new": 2, "known": 2}
