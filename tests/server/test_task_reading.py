"""A task's page: findings of its readers, how its words were read, and the lessons it was shown."""

from __future__ import annotations

import pytest

from core.brief import Brief, Question
from core.clock import utc_now
from core.events import Event, Kind
from core.states import Outcome, Phase
from core.work import Step, Work
from server.desk import Desk
from server.task_reading import shown_findings
from tests.support.desk import Client
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


def lived(desk: Desk, brief: Brief, findings: list[dict[str, object]], about: str) -> None:
    """A task that was read, was shown a lesson, and was sent back by its reviewer."""
    submit(desk, "Improve the shop")
    task = desk.queue.claim("worker-1").result()
    assert task is not None
    work = Work(phase=Phase.REFLECTING, base="c0ffee" * 6, step_no=1, iteration=1, brief=brief)
    step = Step(phase=Phase.REVIEW, outcome=Outcome.REDO, work=work, note="sent back", data={"findings": findings})
    desk.steps.save_step(task.id, 1, task.fence, step, started_at=utc_now(), duration_s=0.1).result()
    recalled = {"id": 7, "kind": "failure", "score": 0.873, "age_days": 3.5, "about": about}
    told = Event(
        kind=Kind.LESSON_RECALLED, task_id=task.id, attempt=1, iteration=1, phase=Phase.PLANNING,
        data={"lessons": [recalled]},
    )  # fmt: skip
    desk.database.write(lambda conn: desk.events.append(conn, told)).result()


def words(client: Client, marker: str) -> str:
    """The text of one part of the page, up to the next."""
    text = client.get("/task/1", Accept="text/html").text
    assert marker in text
    return " ".join(text.split(marker)[1].split("</section>")[0].split())


def test_findings_stand_at_their_step_with_severity_place_reason_and_fix(client: Client, desk: Desk) -> None:
    lived(desk, BRIEF, [dict(one) for one in FINDINGS], "x")
    steps = words(client, 'id="steps-title"')
    assert '<span class="pill high">high</span> <code>shop.py:3</code> SQL from a request' in steps
    assert "Suggested: use parameters" in steps
    assert "<code>shop.py</code> a name that says little" in steps
    assert steps.count("Suggested:") == 1


def test_the_reading_of_a_vague_task_is_shown_with_answers_and_defaults(client: Client, desk: Desk) -> None:
    lived(desk, BRIEF, [], "x")
    read = words(client, 'id="brief-title"')
    for text in ("Serve the shop&#39;s prices", "a path", "<li>no framework</li>", "<li>GET /prices answers 200</li>"):
        assert text in read
    assert 'Which port? <p><b>80</b> <span class="hint">instead of 8080</span></p>' in read
    assert 'Which host? <p><span class="hint">assumed:</span> localhost' in read
    assert "not answered; otherwise assumed:</span> /prices" in read
    assert "Outputs" not in read


def test_lessons_are_shown_with_score_and_age(client: Client, desk: Desk) -> None:
    lived(desk, BRIEF, [], "AttributeError: no total")
    shown = words(client, 'id="lessons-title"')
    assert '<td class="number">0.87</td><td class="number">3 d 12 h</td><td>failure</td>' in shown
    assert "AttributeError: no total" in shown
    assert "planning · try 1" in shown


def test_a_task_that_nobody_read_has_none_of_it(client: Client, desk: Desk) -> None:
    submit(desk, "Write calc.py")
    text = client.get("/task/1", Accept="text/html").text
    assert not [marker for marker in ("brief-title", "lessons-title", "findings") if marker in text]


def test_hostile_words_are_text(client: Client, desk: Desk) -> None:
    brief = Brief(goal=EVIL, constraints=(EVIL,), questions=(Question(text=EVIL, default=EVIL, answer=f"{EVIL}!"),))
    lived(desk, brief, [{"severity": EVIL, "path": EVIL, "line": EVIL, "message": EVIL, "fix": EVIL}], EVIL)
    text = client.get("/task/1", Accept="text/html").text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 9


@pytest.mark.parametrize("data", [{}, {"findings": None}, {"findings": "all"}, {"findings": [1, None, "x"]}])
def test_data_of_another_shape_shows_nothing(data: dict[str, object]) -> None:
    assert shown_findings(data) == []
