"""GitHub's API over a `World`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tests.support.forges.description import Description, publish
from tests.support.forges.server import Answer, Handler, Request
from tests.support.forges.world import BOT, Check, Note, Thread, World

AT = "2026-11-02T08:00:00Z"
EDITED = "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}"
UNLISTED = frozenset({(EDITED, 403), (EDITED, 404)})
ROLES = {"owner": "OWNER", "member": "MEMBER", "collaborator": "COLLABORATOR"}
Row = dict[str, Any]


class GitHubApi:
    """GitHub's implementation of `tests.support.forges.server.Api`."""

    prefix, page_size = "/api/v3", "per_page"
    rows: Collection[str] = ("check_runs", "statuses")

    def __init__(self, world: World) -> None:
        self.world = world
        self.description = Description(publish("github"), unlisted=UNLISTED)

    def admits(self, headers: Mapping[str, str], token: str) -> bool:
        named = headers.get("accept") == "application/vnd.github+json" and "x-github-api-version" in headers
        return named and headers.get("authorization") == f"Bearer {token}"

    def routes(self) -> list[tuple[str, str, Handler]]:
        at = f"/repos/{self.world.project}"
        return [
            ("GET", at, self._repository),
            ("GET", "/user", lambda _: (200, self._user(BOT))),
            ("GET", f"{at}/issues", self._issues),
            ("GET", f"{at}/issues/(\\d+)", self._read_issue),
            ("GET", f"{at}/issues/(\\d+)/comments", self._comments),
            ("POST", f"{at}/issues/(\\d+)/comments", self._commented),
            ("PATCH", f"{at}/issues/comments/(\\d+)", self._edited),
            ("GET", f"{at}/pulls", self._pulls),
            ("POST", f"{at}/pulls", self._opened),
            ("GET", f"{at}/pulls/(\\d+)", self._one_pull),
            ("GET", f"{at}/pulls/(\\d+)/comments", self._lines),
            ("GET", f"{at}/pulls/(\\d+)/reviews", lambda _: (200, [])),
            ("GET", f"{at}/commits/([0-9a-f]+)/check-runs", self._runs),
            ("GET", f"{at}/commits/([0-9a-f]+)/status", self._statuses),
        ]

    def _repository(self, _: Request) -> Answer:
        named = {"full_name": self.world.project, "default_branch": "main", "private": True, "html_url": "http://x"}
        return 200, {"id": 1, **named}

    def _issues(self, request: Request) -> Answer:
        threads = [*self.world.issues.values(), *self.world.pulls.values()]  # for GitHub, pull requests are issues too
        issues = [
            self._issue(each)
            for each in sorted(threads, key=lambda each: -each.number)
            if each.state == request.query["state"] and request.query["labels"] in each.labels
        ]
        return 200, issues

    def _read_issue(self, request: Request) -> Answer:
        issue = self.world.issues.get(int(request.parts[0]))
        return (200, self._issue(issue)) if issue else (404, {"message": "Not Found"})

    def _comments(self, request: Request) -> Answer:
        thread = self.world.thread(int(request.parts[0]))
        assert thread
        return 200, [self._comment(each) for each in thread.notes if not each.path]

    def _commented(self, request: Request) -> Answer:
        thread = self.world.thread(int(request.parts[0]))
        if thread is None:
            return 404, {"message": "Not Found"}
        return 201, self._comment(self.world.say(thread, request.body["body"], by=BOT))

    def _edited(self, request: Request) -> Answer:
        note = self.world.note(int(request.parts[0]))
        if note is None:
            return 404, {"message": "Not Found"}
        if note.author != BOT:
            return 403, {"message": "Must have admin rights to Repository."}
        note.text = request.body["body"]
        return 200, self._comment(note)

    def _pulls(self, request: Request) -> Answer:
        state, head = request.query["state"], request.query.get("head", ":").partition(":")[2]
        pulls = [
            self._pull(each)
            for each in self.world.pulls.values()
            if (state == "all" or (state == "open") == (each.state == "open")) and head in {"", each.branch}
        ]
        return 200, pulls

    def _opened(self, request: Request) -> Answer:
        body, world = request.body, self.world
        if any(each.branch == body["head"] and each.state == "open" for each in world.pulls.values()):
            why = f"A pull request already exists for octo:{body['head']}."
            return 422, {"message": "Validation Failed", "errors": [{"code": "custom", "message": why}]}
        if not world.head(body["head"]):
            error = {"resource": "PullRequest", "field": "head", "code": "invalid"}
            return 422, {"message": "Validation Failed", "errors": [error]}
        if body.get("draft") and not world.drafts:
            why = "Draft pull requests are not supported in this repository."
            return 422, {"message": why}
        pull = world.pull(body["title"], body["body"], body["head"], body["base"], draft=bool(body.get("draft")))
        return 201, self._pull(pull)

    def _one_pull(self, request: Request) -> Answer:
        return 200, self._pull(self.world.pulls[int(request.parts[0])])

    def _lines(self, request: Request) -> Answer:
        pull = self.world.pulls[int(request.parts[0])]
        lines = [
            {
                **self._row_of(each), "path": each.path, "line": each.line, "original_line": each.line,
                "diff_hunk": "@@ -1 +1 @@\n+right", "commit_id": self.world.head(pull.branch),
                "pull_request_review_id": 1,
            }
            for each in pull.notes
            if each.path
        ]  # fmt: skip
        return 200, lines

    def _runs(self, request: Request) -> Answer:
        runs = [self._run(request.parts[0], each) for each in self.world.checks.get(request.parts[0], ())]
        return 200, {"total_count": len(runs), "check_runs": runs}

    def _statuses(self, request: Request) -> Answer:
        status = {"state": "success", "sha": request.parts[0], "total_count": 0, "statuses": []}
        return 200, status

    def _run(self, commit: str, check: Check) -> Row:
        ended = check.state != "running"
        return {
            "id": 1, "name": check.name, "head_sha": commit, "status": "completed" if ended else "in_progress",
            "conclusion": {"failed": "failure", "passed": "success"}[check.state] if ended else None,
            "html_url": "http://x/run", "output": {"title": check.text or None, "summary": None, "text": None},
        }  # fmt: skip

    def _user(self, name: str) -> Row:
        return {"login": name, "id": len(name), "type": "User"}

    def _association(self, name: str) -> str:
        return ROLES.get(self.world.people.get(name, ""), "NONE")

    def _issue(self, thread: Thread) -> Row:
        more = {"pull_request": {"url": "http://x"}} if thread.branch else {}
        return {
            "id": thread.number, "number": thread.number, "state": "open" if thread.state == "open" else "closed",
            "title": thread.title, "body": thread.text or None, "user": self._user(thread.author),
            "labels": [{"id": 1, "name": each, "color": "000000"} for each in thread.labels],
            "author_association": self._association(thread.author), "html_url": f"http://x/issues/{thread.number}",
            "created_at": AT, "updated_at": AT, "comments": len(thread.notes), **more,
        }  # fmt: skip

    def _row_of(self, note: Note) -> Row:
        return {
            "id": note.id, "body": note.text, "user": self._user(note.author),
            "author_association": self._association(note.author), "html_url": f"http://x/comments/{note.id}",
        }  # fmt: skip

    def _comment(self, note: Note) -> Row:
        return {**self._row_of(note), "created_at": AT, "updated_at": AT}

    def _pull(self, thread: Thread) -> Row:
        return {
            "id": thread.number, "number": thread.number, "state": "open" if thread.state == "open" else "closed",
            "title": thread.title, "body": thread.text, "user": self._user(thread.author), "draft": thread.draft,
            "merged_at": AT if thread.state == "merged" else None, "html_url": f"http://x/pull/{thread.number}",
            "head": {"label": f"octo:{thread.branch}", "ref": thread.branch, "sha": self.world.head(thread.branch)},
            "base": {"label": f"octo:{thread.base}", "ref": thread.base, "sha": self.world.head(thread.base)},
            "author_association": self._association(thread.author),
        }  # fmt: skip
