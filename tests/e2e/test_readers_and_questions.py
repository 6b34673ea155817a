"""Reviewers of changes and vague descriptions, end to end.

Changes with findings go back to the author. The owner answers a question about a description, or its default is
assumed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.answers import RIGHT, TESTS, Answers, job
from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wire_server import WireServer

BOUNDARY = "the boundary is counted, though only what is above it should be"
NOT_EXPRESS = "the task asks for Express and this is plain http"
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
    accepted, pair = map(json.loads, daemon.cli("--export-training", "-").stdout.splitlines())
    assert RIGHT.format(n=1) in accepted["messages"][-1]["content"]
    assert (RIGHT.format(n=1) in pair["chosen"][0]["content"], ">= 1" in pair["rejected"][0]["content"]) == (True, True)


def test_a_vague_task_waits_for_its_owner_and_goes_on_with_his_answer(daemon: Daemon, server: WireServer) -> None:
    task_id = daemon.submit(description=VAGUE, clarify=True)
    until(lambda: daemon.get(f"/api/task/{task_id}")["status"] == "waiting")
    (asked,) = json.loads(daemon.cli("--approvals", "--json").stdout)["approvals"]
    assert (asked["question"], asked["default"]) == (QUESTION, ASSUMED)
    assert f"on: {ASSUMED}" in daemon.cli("--approvals").stdout
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


def test_a_question_that_nobody_answers_goes_on_with_what_is_assumed(tmp_path: Path, server: WireServer) -> None:
    with Daemon(tmp_path / "home", settings_for(server, ENABLE_CLARIFY="true", CLARIFY_WAIT_S="1")) as daemon:
        (task,) = daemon.wait(daemon.submit(description=VAGUE))
        assert task["ending"] == "committed"
        (asked,) = daemon.get("/api/approvals")["approvals"]
        assert (asked["granted"], asked["answer"], asked["assumed_at"]) == (True, ASSUMED, None)
        assert asked["answered_by"] == "assumed"
    prompts = [str(request.messages) for request in server.requests if request.phase == "CODING"]
    assert all(ASSUMED in text for text in prompts)


class NeverContent(Answers):
    """A reviewer that reports the same critical finding on each new version of job 5."""

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase == "REVIEW":
            self.counts[5, phase] += 1
            finding = {
                "file": "job_5.py",
                "line": 2,
                "severity": "critical",
                "reason": NOT_EXPRESS,
                "fix": "use Express",
            }
            return json.dumps({"findings": [finding]})
        reply = super().__call__(phase, messages)
        if phase == "CODING":
            reply = reply.replace("\n    return", f"\n    # version {self.counts[5, phase]}\n    return")
        return reply


@pytest.mark.parametrize("answers", [NeverContent()])
def test_what_a_reviewer_says_three_times_is_what_the_owner_finds_in_the_morning(
    tmp_path: Path, server: WireServer, answers: NeverContent
) -> None:
    with Daemon(tmp_path / "home", settings_for(server, ENABLE_REVIEW="true", CLARIFY_WAIT_S="1")) as daemon:
        (task,) = daemon.wait(daemon.submit(**job(5)))
        assert task["ending"] == "committed"
        assert answers.counts[5, "REVIEW"] == 3
        (asked,) = daemon.get("/api/approvals")["approvals"]
        assert (asked["kind"], asked["answered_by"]) == ("finding", "assumed")
        assert NOT_EXPRESS in asked["question"]
        assert NOT_EXPRESS in task["reason"]
        message = git(daemon.home / "workspace", "show", "-s", "--format=%B", task["commit"])
        assert "Open-Findings: 1 critical" in message
        assert NOT_EXPRESS in " ".join(message.split())
        note = json.loads(git(daemon.home / "workspace", "notes", "--ref=nightshift", "show", task["commit"]))
        assert [remark["reason"] for remark in note["remarks"]] == [NOT_EXPRESS]
        (commit,) = daemon.get("/api/commits?unread=1")["commits"]
        assert [(remark["severity"], remark["place"]) for remark in commit["remarks"]] == [("critical", "job_5.py:2")]
        for action in (("--unread",), ("--show", str(task["task_id"])), ("verify", task["commit"])):
            result = daemon.cli(*action)
            assert result.returncode == 0, result.stdout + result.stderr
            assert action[0] == "verify" or NOT_EXPRESS in " ".join(result.stdout.split())
        daemon.ask("POST", "/api/checkpoint")
        until(lambda: daemon.get("/api/reports")["reports"])
        (report,) = (daemon.home / "reports").glob("*.md")
        assert f"left open: critical (review): job_5.py:2: {NOT_EXPRESS}" in report.read_text().replace("\\", "")
