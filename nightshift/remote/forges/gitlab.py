"""GitLab, through its REST API, version 4. GitLab calls a pull request a merge request.

A person may give the agent work if that person's access level for the project is high enough. The level is requested
once per author in each look at the forge. The checks of a commit are its statuses, which in GitLab include the jobs of
its pipelines.
"""

from __future__ import annotations

from typing import ClassVar

from nightshift.remote.forges.client import segment, text_of
from nightshift.remote.forges.forge import CommentPaths, Forge, Query, Row, check_of
from nightshift.remote.forges.port import Check, Proposal, Remark

DEVELOPER = 30
"""The lowest access level that may push to the project."""
RUNNING = frozenset({
    "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "canceling",
})  # fmt: skip
"""Statuses of jobs that will end without action by a person. Jobs that are started manually or at a later time have
other statuses, and nothing waits for them.
"""


class GitLab(Forge):
    """One project at GitLab."""

    number_field: ClassVar[str] = "iid"
    text_field: ClassVar[str] = "description"
    url_field: ClassVar[str] = "web_url"
    open_state: ClassVar[str] = "opened"
    pulls_path: ClassVar[str] = "merge_requests"

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return f"{site}/api/v4"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        return {"PRIVATE-TOKEN": token} if token else {}

    @staticmethod
    def _path_of(project: str) -> str:
        return f"/projects/{segment(project)}"

    def _comments(self, number: int, on_pull: bool) -> CommentPaths:
        at = f"{self._root}/{self.pulls_path if on_pull else 'issues'}/{number}/notes"
        query: Query = {"sort": "asc", "order_by": "created_at", **self.page}
        return CommentPaths(all=at, each=at, method="PUT", query=query)

    async def _is_permitted(self, row: Row) -> bool:
        member = int(row["author"]["id"])
        if member not in self._permitted:
            access = await self._client.find(f"{self._root}/members/all/{member}")
            active = access and access.get("state", "active") == "active"
            self._permitted[member] = bool(active) and int(access["access_level"]) >= DEVELOPER
        return self._permitted[member]

    async def _remark(self, kind: str, row: Row, url: str = "") -> Remark:
        position = row.get("position") or {}
        return Remark(
            id=f"{kind}{row['id']}",
            author=await self._person(row),
            text=text_of(row.get("body")),
            url=f"{url}#note_{row['id']}",
            path=text_of(position.get("new_path") or position.get("old_path")),
            line=position.get("new_line") or position.get("old_line"),
        )

    async def _list_pull_remarks(self, row: Row) -> list[Remark]:
        url = text_of(row.get("web_url"))
        return [await self._remark("n", note, url) for note in await self._list_comments(row["iid"], on_pull=True)]

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        """List the failed statuses of a commit, without those that are allowed to fail."""
        rows = await self._client.pages(f"{self._root}/repository/commits/{commit}/statuses", **self.page)
        if any(row["status"] in RUNNING for row in rows):
            return None
        return tuple(check_of(row) for row in rows if row["status"] == "failed" and not row.get("allow_failure"))

    async def _list_pulls_of(self, branch: str) -> list[Row]:
        return await self._client.pages(f"{self._root}/merge_requests", state="all", source_branch=branch, **self.page)

    async def _open_pull(self, proposal: Proposal) -> Row:
        body = {
            "source_branch": proposal.branch,
            "target_branch": proposal.base,
            "title": f"Draft: {proposal.title}",
            "description": proposal.text,
        }
        row: Row = await self._client.send("POST", f"{self._root}/merge_requests", body)
        return row

    def _head(self, row: Row) -> tuple[str, str]:
        return text_of(row["source_branch"]), text_of(row.get("sha"))
