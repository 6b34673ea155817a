"""GitLab's API over a `World`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from tests.support.forges.description import Description
from tests.support.forges.gitlab_schemas import GITLAB
from tests.support.forges.server import Answer, Handler, Request
from tests.support.forges.world import BOT, Note, Thread, World

AT = "2026-11-02T08:00:00.000Z"
LEVELS = {"owner": 50, "member": 30, "guest": 10}
STATES = {"open": "opened"}
Row = dict[str, Any]


class GitLabApi:
    """GitLab's implementation of `tests.support.forges.server.Api`.

    Issues and merge requests are numbered separately, and so are the notes on issues and the notes on merge requests.
    """

    prefix, page_size = "/api/v4", "per_page"
    rows: Collection[str] = ()

    def __init__(self, world: World) -> None:
        self.world = world
        self.description = Description(GITLAB)
        world.shares_numbers = False

    def admits(self, headers: Mapping[str, str], token: str) -> bool:
        return headers.get("private-token") == token

    def routes(self) -> list[tuple[str, str, Handler]]:
        at = f"/projects/{quote(self.world.project, safe='')}"
        notes = f"{at}/(issues|merge_requests)/(\\d+)/notes"
        return [
            ("GET", at, self._project),
            ("GET", "/user", lambda _: (200, self._user(BOT))),
            ("GET", f"{at}/members/all/(\\d+)", self._member),
            ("GET", f"{at}/issues", self._issues),
            ("GET", f"{at}/issues/(\\d+)", self._read_issue),
            ("GET", notes, self._notes),
            ("POST", notes, self._noted),
            ("PUT", f"{notes}/(\\d+)", self._edited),
            ("GET", f"{at}/merge_requests", self._requests),
            ("POST", f"{at}/merge_requests", self._opened),
            ("GET", f"{at}/merge_requests/(\\d+)", self._one_request),
            ("GET", f"{at}/repository/commits/([0-9a-f]+)/statuses", self._statuses),
        ]

    def _project(self, _: Request) -> Answer:
        named = {"path_with_namespace": self.world.project, "default_branch": "main", "web_url": "http://x"}
        return 200, {"id": 1, **named}

    def _id(self, name: str) -> int:
        return int.from_bytes(name.encode()[:5])

    def _user(self, name: str) -> Row:
        return {"id": self._id(name), "username": name, "name": name, "state": "active", "web_url": f"http://x/{name}"}

    def _member(self, request: Request) -> Answer:
        for name, role in self.world.people.items():
            if self._id(name) == int(request.parts[0]):
                return 200, {**self._user(name), "access_level": LEVELS[role]}
        return 404, {"message": "404 Not found"}

    def _issues(self, request: Request) -> Answer:
        issues = [
            self._issue(each)
            for each in reversed(self.world.issues.values())
            if each.state == "open" and request.query["state"] == "opened" and request.query["labels"] in each.labels
        ]
        return 200, issues

    def _read_issue(self, request: Request) -> Answer:
        issue = self.world.issues.get(int(request.parts[0]))
        return (200, self._issue(issue)) if issue else (404, {"message": "404 Not found"})

    def _thread(self, request: Request) -> Thread | None:
        threads = self.world.issues if request.parts[0] == "issues" else self.world.pulls
        return threads.get(int(request.parts[1]))

    def _notes(self, request: Request) -> Answer:
        thread = self._thread(request)
        assert thread
        system_note = {**self._note(thread, Note(1, BOT, "changed the description")), "system": True}
        return 200, [system_note, *(self._note(thread, each) for each in thread.notes)]

    def _noted(self, request: Request) -> Answer:
        thread = self._thread(request)
        if thread is None:
            return 404, {"message": "404 Not found"}
        return 201, self._note(thread, self.world.say(thread, request.body["body"], by=BOT))

    def _edited(self, request: Request) -> Answer:
        thread, note = self._thread(request), self.world.note(int(request.parts[2]))
        if thread is None or note not in thread.notes:
            return 404, {"message": "404 Not found"}
        if note.author != BOT:
            return 403, {"message": "403 Forbidden"}
        note.text = request.body["body"]
        return 200, self._note(thread, note)

    def _requests(self, request: Request) -> Answer:
        state, branch = request.query["state"], request.query.get("source_branch", "")
        requests = [
            self._request(each)
            for each in self.world.pulls.values()
            if state in {"all", STATES.get(each.state, each.state)} and branch in {"", each.branch}
        ]
        return 200, requests

    def _opened(self, request: Request) -> Answer:
        body, world = request.body, self.world
        branch = body["source_branch"]
        held = [each for each in world.pulls.values() if each.branch == branch and each.state == "open"]
        if held:
            why = f"Another open merge request already exists for this source branch: !{held[0].number}"
            return 409, {"message": [why]}
        if not world.head(branch):
            return 400, {"message": {"source_branch": ["does not exist"]}}
        draft = body["title"].startswith("Draft: ")
        merge_request = world.pull(body["title"], body["description"], branch, body["target_branch"], draft=draft)
        return 201, self._request(merge_request)

    def _one_request(self, request: Request) -> Answer:
        return 200, self._request(self.world.pulls[int(request.parts[0])])

    def _statuses(self, request: Request) -> Answer:
        names = {"failed": "failed", "passed": "success", "running": "running"}
        statuses = [
            {
                "id": 1, "sha": request.parts[0], "ref": None, "name": each.name, "description": each.text or None,
                "target_url": "http://x/run", "status": names.get(each.state, each.state), "allow_failure": False,
                "author": self._user(BOT),
            }
            for each in self.world.checks.get(request.parts[0], ())
        ]  # fmt: skip
        return 200, statuses

    def _issue(self, thread: Thread) -> Row:
        return {
            "id": 100 + thread.number, "iid": thread.number, "project_id": 1, "title": thread.title,
            "description": thread.text or None, "state": STATES.get(thread.state, "closed"), "labels": thread.labels,
            "author": self._user(thread.author), "web_url": f"http://x/issues/{thread.number}", "created_at": AT,
            "updated_at": AT,
        }  # fmt: skip

    def _note(self, thread: Thread, note: Note) -> Row:
        position = {
            "position_type": "text", "old_path": note.path, "new_path": note.path, "old_line": None,
            "new_line": note.line, "base_sha": "", "start_sha": "", "head_sha": "",
        }  # fmt: skip
        return {
            "id": note.id, "body": note.text, "author": self._user(note.author), "system": False,
            "type": "DiffNote" if note.path else None, "noteable_iid": thread.number, "created_at": AT,
            "updated_at": AT, "noteable_type": "MergeRequest" if thread.branch else "Issue",
            **({"position": position} if note.path else {}),
        }  # fmt: skip

    def _request(self, thread: Thread) -> Row:
        return {
            "id": 200 + thread.number, "iid": thread.number, "title": thread.title, "description": thread.text,
            "state": STATES.get(thread.state, thread.state), "source_branch": thread.branch,
            "target_branch": thread.base, "sha": self.world.head(thread.branch), "draft": thread.draft,
            "merged_at": AT if thread.state == "merged" else None, "author": self._user(thread.author),
            "web_url": f"http://x/merge_requests/{thread.number}",
        }  # fmt: skip
