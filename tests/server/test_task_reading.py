"""The review of a task in the API: the reviewers' findings, the brief, and the lessons that the task was shown."""

from __future__ import annotations

from typing import Any

from nightshift.core.clock import utc_now
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState, Brief, Question, Step
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.server.context import AppContext
from nightshift.storage.memory import recall_log
from nightshift.storage.memory.recall_log import Assignment, Recalled
from tests.support.app_context import Client
from tests.support.worked_task import submit

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}\x1b[31m"
FINDINGS = [
    {"severity": "high", "path": "shop.py", "line": 3, "message": "SQL from a request", "fix": "use parameters"},
    {"severity": "low", "path": "shop.py", "line": 0, "message": "a name that says little", "fix": ""},
]
BRIEF = Brief(
    goal="Serve the shop's prices",
    inputs="a path",
    constraints=("no framework",),
    acceptance=("GET /prices answers 200",),
    questions=(
        Question(text="Which port?", default="8080", answer="80"),
        Question(text="Which host?", default="localhost", answer="localhost"),
        Question(text="Which path?", default="/prices"),
    ),
)


def live(context: AppContext, brief: Brief, findings: list[dict[str, object]], about: str) -> None:
    """Create a task with a brief and a recalled lesson, and a review that sends its change back."""
    submit(context, "Improve the shop")
    task = context.queue.claim("worker-1").result()
    assert task is not None
    work = AttemptState(phase=Phase.REFLECTING, base="c0ffee" * 6, step_no=1, iteration=1, brief=brief)
    step = Step(phase=Phase.REVIEW, outcome=Outcome.REDO, state=work, note="sent back", data={"findings": findings})
    context.steps.save_step(task.id, 1, task.fence, step, started_at=utc_now(), duration_s=0.1).result()
    recalled = {"id": 7, "kind": "failure", "score": 0.873, "age_days": 3.5, "about": about}
    event = Event(
        kind=Kind.LESSON_RECALLED, task_id=task.id, attempt=1, iteration=1, phase=Phase.PLANNING,
        data={"lessons": [recalled]},
    )  # fmt: skip
    context.database.write(lambda conn: context.events.append(conn, event)).result()


def step(client: Client) -> dict[str, Any]:
    """Return the only step of the task."""
    return dict(client.get("/api/task/1/step/1/0").json)


def test_findings_stand_at_their_step_with_severity_place_reason_and_fix(client: Client, context: AppContext) -> None:
    live(context, BRIEF, [dict(finding) for finding in FINDINGS], "x")
    first, second = step(client)["findings"]
    assert first == {
        "severity": "high", "rule": "", "place": "shop.py:3", "reason": "SQL from a request", "fix": "use parameters",
    }  # fmt: skip
    assert (second["place"], second["reason"], second["fix"]) == ("shop.py", "a name that says little", "")
    assert client.get("/api/task/1/timeline").json["tries"][0]["steps"][0]["findings"] == 2


def test_a_warning_that_code_failed_before_is_told_as_such(client: Client, context: AppContext) -> None:
    message = "total is written like code that failed in an earlier task."
    note = {"rule": "memory.failed_before", "severity": "note", "path": "a.py", "line": 1, "message": message}
    live(context, BRIEF, [note], "x")
    assert client.get("/api/task/1/timeline").json["tries"][0]["steps"][0]["repeats"] == [message]


def test_the_reading_of_a_vague_task_is_shown_with_answers_and_defaults(client: Client, context: AppContext) -> None:
    live(context, BRIEF, [], "x")
    read = step(client)["brief"]
    assert (read["goal"], read["inputs"], read["outputs"]) == ("Serve the shop's prices", "a path", "")
    assert (read["constraints"], read["acceptance"]) == (["no framework"], ["GET /prices answers 200"])
    assert [(question["text"], question["default"], question["answer"]) for question in read["questions"]] == [
        ("Which port?", "8080", "80"), ("Which host?", "localhost", "localhost"), ("Which path?", "/prices", ""),
    ]  # fmt: skip


def test_lessons_are_shown_with_score_age_and_what_the_attempt_saw(client: Client, context: AppContext) -> None:
    live(context, BRIEF, [], "AttributeError: no total")
    near = [
        Recalled(kind="failure", item=7, arm=Assignment.SHOWN, score=0.873),
        Recalled(kind="pattern", item=2, arm=Assignment.CONTROL, score=0.5),
    ]
    context.database.write(lambda conn: recall_log.add(conn, 1, 1, near, utc_now())).result()
    first, second = client.get("/api/task/1/timeline").json["recalls"]
    assert first == {
        "attempt": 1, "kind": "failure", "item": 7, "about": "AttributeError: no total", "arm": "shown",
        "score": 0.873, "age_days": 3.5, "iteration": 1, "phase": "PLANNING", "solved": None,
    }  # fmt: skip
    assert (second["arm"], second["age_days"], second["iteration"]) == ("control", None, None)


def test_hostile_words_are_printable_and_masked_as_data(client: Client, context: AppContext) -> None:
    brief = Brief(goal=EVIL, constraints=(EVIL,), questions=(Question(text=EVIL, default=EVIL, answer=f"{EVIL}!"),))
    live(context, brief, [{"severity": EVIL, "path": EVIL, "line": EVIL, "message": EVIL, "fix": EVIL}], EVIL)
    for path in ("timeline", "step/1/0"):
        got = client.get(f"/api/task/1/{path}")
        assert got.status == 200
        assert "\\u001b" not in got.text
        assert "alert(1)" in got.text
    assert step(client)["brief"]["goal"] == EVIL.replace("\x1b", r"\x1b")
