from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent, Task
from nightshift.queue.listing import Order, Place, Sort, TaskFilter
from nightshift.server.context import AppContext
from tests.support import tiers
from tests.support.app_context import Client, make_desk, serving
from tests.support.worked_task import submit, work_on

KINDS = ("library", "cli_tool", None)
REPOS = ("/srv/shop", "/srv/api", None)


def fill(context: AppContext) -> None:
    """Create thirty tasks in many statuses, some of which differ only in their ids."""
    for number in range(30):
        submit(
            context, f"task {number} of {'cheese' if number % 4 else '100%_wine'}", priority=number % 3,
            kind=KINDS[number % 3], repo=REPOS[number % 2 + number % 3 // 2],
        )  # fmt: skip
    for number in range(18):
        task = context.queue.claim(f"worker-{number % 2}").result()
        assert task is not None
        if number < 15:
            spent = Spent(tokens_in=number % 4, cost_usd=number % 5 / 10)
            ending = Ending.GAVE_UP if number % 3 else Ending.COMMITTED
            context.queue.finish(
                task.id, task.fence, ending, reason=f"because of {number}", iterations=number % 4, spent=spent,
                commit=f"{number:02x}c0ffee" * 4 if ending is Ending.COMMITTED else None, branch=f"agent/{task.id}-b",
            ).result()  # fmt: skip
    context.queue.cancel(next(t.id for t in context.queue.find(status=Status.QUEUED))).result()


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppContext]:
    desk = make_desk(tmp_path_factory.mktemp("still"))
    fill(desk)
    yield desk
    desk.database.close()


@pytest.fixture(scope="module")
def reader(still: AppContext) -> Iterator[Client]:
    with serving(still) as client:
        yield client


def ids(answer: Any) -> list[int]:
    return [task["task_id"] for task in answer["tasks"]]


def describe(task: Any) -> str:
    """Return, in one text, the fields of a task that a search covers, except for the commit."""
    return " ".join(str(task[name] or "") for name in ("description", "reason", "repo", "branch")).lower()


def passes(task: Task, statuses: frozenset[Status], kind: Any, text: str) -> bool:
    """Check whether a task matches the filter, by a simple reimplementation of the filter."""
    fields = (task.spec.description, task.reason, task.spec.repo or "", task.branch or "")
    holds = all(
        any(word.lower() in field.lower() for field in fields) or (task.commit or "").startswith(word)
        for word in text.split()
    )
    return (
        (not statuses or task.status in statuses) and kind in {None, task.spec.kind} and (holds or str(task.id) == text)
    )


@settings(max_examples=tiers.examples(60), deadline=None)
@given(
    by=st.sampled_from(Sort), descending=st.booleans(), limit=st.integers(1, 31),
    statuses=st.frozensets(st.sampled_from(Status)), kind=st.sampled_from((None, "library")),
    text=st.sampled_from(("", "cheese", "100%_w", "1 BECAUSE of", "0", "agent/")),
)  # fmt: skip
def test_the_pages_of_every_order_show_each_task_once(
    still: AppContext, by: Sort, descending: bool, limit: int, statuses: frozenset[Status], kind: Any, text: str
) -> None:
    wanted, order = TaskFilter(statuses=statuses, text=text, kind=kind), Order(by=by, descending=descending)
    listed = still.queue.list_tasks(wanted, order, 1000)
    expected, rows, after = listed.places, tuple[Place, ...](), None
    while page := still.queue.list_tasks(wanted, order, limit, after).places:
        rows, after = (*rows, *page), page[-1]
    assert rows == expected
    assert len({row.task_id for row in expected}) == len(expected)
    assert len(expected) == listed.total(statuses)
    tasks = {task.id: task for task in still.queue.find(limit=100)}
    assert {row.task_id for row in expected} == {
        task.id for task in tasks.values() if passes(task, statuses, kind, text)
    }
    keys = [(row.value, row.task_id) for row in expected]
    assert keys == sorted(keys, reverse=descending)


def test_several_statuses_are_asked_for_by_comma_and_all_are_counted(reader: Client) -> None:
    listing = reader.get("/api/tasks?status=failed,%20cancelled&limit=500").json
    assert {task["status"] for task in listing["tasks"]} == {"failed", "cancelled"}
    assert (
        listing["total"] == len(listing["tasks"]) == listing["counts"]["failed"] + listing["counts"]["cancelled"] == 11
    )
    assert sum(listing["counts"].values()) == 30


@pytest.mark.parametrize(
    ("q", "right"),
    [
        ("100%_WINE", lambda task: "wine" in task["description"]),
        ("of because 7", lambda task: all(word in describe(task) for word in ("of", "because", "7"))),
        ("03c0ffee03", lambda task: (task["commit"] or "").startswith("03c0ffee")),
        ("agent/6-", lambda task: task["branch"] == "agent/6-b"),
        ("#12", lambda task: task["task_id"] == 12),
    ],
)
def test_a_text_is_looked_for_wherever_it_may_stand(reader: Client, q: str, right: Any) -> None:
    every = reader.get("/api/tasks?limit=500").json["tasks"]
    task_ids = ids(reader.get(f"/api/tasks?limit=500&q={quote(q)}").json)
    assert task_ids == [task["task_id"] for task in every if right(task)]
    assert task_ids


def test_kind_and_repository_are_filters(reader: Client) -> None:
    every = reader.get("/api/tasks?limit=500").json["tasks"]
    cases: list[tuple[str, Callable[[Any], bool]]] = [
        ("kind=library", lambda task: task["kind"] == "library"),
        ("repo=workspace", lambda task: task["repo"] is None),
        ("repo=/srv/api&kind=cli_tool", lambda task: (task["repo"], task["kind"]) == ("/srv/api", "cli_tool")),
    ]
    for query, right in cases:
        wanted = [task["task_id"] for task in every if right(task)]
        assert ids(reader.get(f"/api/tasks?limit=500&{query}").json) == wanted
        assert wanted


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=failed,nope", "status"), ("sort=colour", "sort"), ("q=" + "x" * 201, "q"), ("cursor=%ff%fe", "cursor"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_query_is_named(reader: Client, query: str, field: str) -> None:
    got = reader.get(f"/api/tasks?{query}")
    assert (got.status, list(got.json["fields"])) == (400, [field])


def test_a_cursor_belongs_to_its_order(reader: Client) -> None:
    cursor = reader.get("/api/tasks?sort=priority&limit=3").json["next"]
    for other in ("sort=priority&order=asc", "sort=id"):
        got = reader.get(f"/api/tasks?{other}&cursor={cursor}")
        assert (got.status, list(got.json["fields"])) == (400, ["cursor"])


@settings(max_examples=tiers.examples(60), deadline=None)
@given(st.one_of(st.text(max_size=40), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=5)
)))  # fmt: skip
def test_any_cursor_is_read_or_refused(reader: Client, value: Any) -> None:
    text = value if isinstance(value, str) else base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    got = reader.get(f"/api/tasks?sort=created&cursor={quote(text, safe='', errors='replace')}")
    assert got.status in {200, 400}
    cursor = base64.urlsafe_b64encode(json.dumps(["created", True, value, 3]).encode()).decode().rstrip("=")
    assert reader.get(f"/api/tasks?sort=created&cursor={cursor}").status in {200, 400}


def test_a_page_stays_right_while_tasks_move(context: AppContext, client: Client) -> None:
    for number in range(6):
        submit(context, f"task {number}", priority=number)
    first = client.get("/api/tasks?sort=priority&limit=3").json
    context.queue.prioritise(first["tasks"][-1]["task_id"], 99).result()
    rest = client.get(f"/api/tasks?sort=priority&limit=3&cursor={first['next']}").json
    assert ids(first) + ids(rest) == [6, 5, 4, 3, 2, 1]


def test_a_blocked_task_names_what_it_waits_for_and_is_not_done_yet(context: AppContext, client: Client) -> None:
    done = submit(context, "first")
    work_on(context)
    other = submit(context, "second")
    blocked = submit(context, "third", depends_on=[done, other])
    rows = {row["task_id"]: row["waits_for"] for row in client.get("/api/tasks").json["tasks"]}
    assert rows == {done: [], other: [], blocked: [other]}
    assert client.get(f"/api/task/{blocked}").json["waits_for"] == [other]
