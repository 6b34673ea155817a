"""The API of Gitea and of Forgejo over a `World`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tests.support.forges.description import Description, publish
from tests.support.forges.server import Answer, Handler, Request
from tests.support.forges.world import BOT, Note, Thread, World

AT = "2026-11-02T08:00:00Z"
PERMISSIONS = {"owner": "owner", "member": "write", "guest": "read"}
NOT_FOUND: Answer = (404, {"message": "The target couldn't be found."})
REVIEW = 7
NULLS = ("Issue.labels", "Issue.pull_request", "PullRequest.merged_at")
"""Nullable fields. They are pointers and lists in Go, but the description names only the type that they point to."""
Row = dict[str, Any]


class GiteaApi:
    """Gitea's implementation of `tests.support.forges.server.Api`.

    All comments on lines of a pull request belong to one review.
    """

    prefix, name, page_size = "/api/v1", "gitea", "limit"
    rows: Collection[str] = ("statuses",)

    def __init__(self, world: World) -> None:
        self.world = world
        self.description = Description(publish(self.name), nulls=NULLS)

    def admits(self, headers: Mapping[str, str], token: str) -> bool:
        return headers.get("authorization") == f"token {token}"

    def routes(self) -> list[tuple[str, str, Handler]]:
        at = f"/repos/{self.world.project}"
        return [
            ("GET", at, self._repository),
            ("GET", "/user", lambda _: (200, self._user(BOT))),
            ("GET", f"{at}/collaborators/([^/]+)/permission", self._permission),
            ("GET", f"{at}/issues", self._issues),
            ("GET", f"{at}/issues/(\\d+)", self._read_issue),
            ("GET", f"{at}/issues/(\\d+)/comments", self._comments),
            ("POST", f"{at}/issues/(\\d+)/comments", self._commented),
            ("PATCH", f"{at}/issues/comments/(\\d+)", self._edited),
            ("GET", f"{at}/pulls", self._pulls),
            ("POST", f"{at}/pulls", self._opened),
            ("GET", f"{at}/pulls/(\\d+)", self._one_pull),
            ("GET", f"{at}/pulls/(\\d+)/reviews", self._reviews),
            ("GET", f"{at}/pulls/(\\d+)/reviews/{REVIEW}/comments", self._lines),
            ("GET", f"{at}/commits/([0-9a-f]+)/status", self._statuses),
        ]

    def _repository(self, _: Request) -> Answer:
        named = {"full_name": self.world.project, "default_branch": "main", "html_url": "http://x", "private": True}
        return 200, {"id": 1, **named}

    def _user(self, name: str) -> Row:
        return {"id": len(name), "login": name, "full_name": "", "email": f"{name}@x"}

    def _permission(self, request: Request) -> Answer:
        name = request.parts[0]
        held = PERMISSIONS.get(self.world.people.get(name, ""), "none")
        return 200, {"permission": held, "role_name": held, "user": self._user(name)}

    def _issues(self, request: Request) -> Answer:
        assert request.query["type"] == "issues"
        label, all_issues = request.query["labels"], self.world.issues.values()
        label_exists = any(label in each.labels for each in all_issues)  # Gitea ignores an unknown label
        issues = [
            self._issue(each)
            for each in reversed(all_issues)
            if each.state == request.query["state"] and (label in each.labels or not label_exists)
        ]
        return 200, issues

    def _read_issue(self, request: Request) -> Answer:
        issue = self.world.issues.get(int(request.parts[0]))
        return (200, self._issue(issue)) if issue else NOT_FOUND

    def _comments(self, request: Request) -> Answer:
        thread = self.world.thread(int(request.parts[0]))
        assert thread
        assert "page" not in request.query
        return 200, [self._comment(each) for each in thread.notes if not each.path]

    def _commented(self, request: Request) -> Answer:
        thread = self.world.thread(int(request.parts[0]))
        if thread is None:
            return NOT_FOUND
        return 201, self._comment(self.world.say(thread, request.body["body"], by=BOT))

    def _edited(self, request: Request) -> Answer:
        note = self.world.note(int(request.parts[0]))
        if note is None:
            return NOT_FOUND
        if note.author != BOT:
            return 403, {"message": "user does not have permission"}
        note.text = request.body["body"]
        return 200, self._comment(note)

    def _pulls(self, request: Request) -> Answer:
        state = request.query["state"]
        pulls = [
            self._pull(each)
            for each in self.world.pulls.values()
            if state == "all" or (state == "open") == (each.state == "open")
        ]
        return 200, pulls

    def _opened(self, request: Request) -> Answer:
        body, world = request.body, self.world
        if any(each.branch == body["head"] and each.state == "open" for each in world.pulls.values()):
            return 409, {"message": "pull request already exists for these targets"}
        if not world.head(body["head"]):
            return NOT_FOUND
        draft = body["title"].startswith("WIP:")
        pull = world.pull(body["title"], body["body"], body["head"], body["base"], draft=draft)
        return 201, self._pull(pull)

    def _one_pull(self, request: Request) -> Answer:
        return 200, self._pull(self.world.pulls[int(request.parts[0])])

    def _reviews(self, request: Request) -> Answer:
        pull = self.world.pulls[int(request.parts[0])]
        lines = [each for each in pull.notes if each.path]
        review = {
            "id": REVIEW, "body": "", "user": self._user("olga"), "state": "COMMENT", "comments_count": len(lines),
            "html_url": "http://x/review",
        }  # fmt: skip
        return 200, [review] if lines else []

    def _lines(self, request: Request) -> Answer:
        pull = self.world.pulls[int(request.parts[0])]
        lines = [
            {
                "id": each.id, "body": each.text, "user": self._user(each.author), "path": each.path,
                "position": each.line or 0, "original_position": 0, "diff_hunk": "@@ -1 +1 @@\n+right",
                "html_url": f"http://x/comments/{each.id}", "pull_request_review_id": REVIEW,
            }
            for each in pull.notes
            if each.path
        ]  # fmt: skip
        return 200, lines

    def _statuses(self, request: Request) -> Answer:
        names = {"failed": "failure", "passed": "success", "running": "pending"}
        statuses = [
            {
                "id": 1, "status": names[each.state], "context": each.name, "description": each.text,
                "target_url": "http://x/run",
            }
            for each in self.world.checks.get(request.parts[0], ())
        ]  # fmt: skip
        commit = {"state": "success", "sha": request.parts[0], "total_count": len(statuses), "statuses": statuses}
        return 200, commit

    def _issue(self, thread: Thread) -> Row:
        return {
            "id": thread.number, "number": thread.number, "state": "open" if thread.state == "open" else "closed",
            "title": thread.title, "body": thread.text, "user": self._user(thread.author),
            "labels": [{"id": 1, "name": each, "color": "000000"} for each in thread.labels] or None,
            "html_url": f"http://x/issues/{thread.number}", "created_at": AT, "updated_at": AT,
            "comments": len(thread.notes), "pull_request": None,
        }  # fmt: skip

    def _comment(self, note: Note) -> Row:
        return {
            "id": note.id, "body": note.text, "user": self._user(note.author), "html_url": f"http://x/{note.id}",
            "created_at": AT, "updated_at": AT,
        }  # fmt: skip

    def _pull(self, thread: Thread) -> Row:
        world = self.world
        return {
            "id": thread.number, "number": thread.number, "state": "open" if thread.state == "open" else "closed",
            "title": thread.title, "body": thread.text, "user": self._user(thread.author), "draft": thread.draft,
            "merged": thread.state == "merged", "merged_at": AT if thread.state == "merged" else None,
            "head": {"label": thread.branch, "ref": thread.branch, "sha": world.head(thread.branch), "repo_id": 1},
            "base": {"label": thread.base, "ref": thread.base, "sha": world.head(thread.base), "repo_id": 1},
            "html_url": f"http://x/pulls/{thread.number}",
        }  # fmt: skip


class ForgejoApi(GiteaApi):
    """The API of Forgejo, which is Gitea's API but is validated against Forgejo's own description."""

    name = "forgejo"
