"""Gitea and Forgejo, through the REST API, version 1, which both support.

A person may give the agent work if that person has write permission for the repository. The permission is requested
once per author in each look at the forge. Only a token of an administrator of the repository may request it. The checks
of a commit are its statuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from nightshift.remote.forges.client import PER_PAGE, segment, text_of
from nightshift.remote.forges.forge import CommentPaths, Forge, Query, Row, check_of
from nightshift.remote.forges.port import Check, Proposal, Remark

PERMITTED = frozenset({"owner", "admin", "write"})
BAD = frozenset({"failure", "error"})


class Gitea(Forge):
    """One repository at Gitea or Forgejo."""

    line_fields: ClassVar[Sequence[str]] = ("position", "original_position")
    page: ClassVar[Query] = {"limit": PER_PAGE}

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return f"{site}/api/v1"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        return {"Accept": "application/json", **({"Authorization": f"token {token}"} if token else {})}

    def _issues_query(self) -> Query:
        return {**self.page, "type": "issues"}

    def _comments(self, number: int, on_pull: bool) -> CommentPaths:  # noqa: ARG002  Gitea's pull requests are issues
        at = f"{self._root}/issues"
        return CommentPaths(all=f"{at}/{number}/comments", each=f"{at}/comments", method="PATCH", query={})

    async def _is_permitted(self, row: Row) -> bool:
        name = text_of(row["user"]["login"])
        if name not in self._permitted:
            permission = await self._client.find(f"{self._root}/collaborators/{segment(name)}/permission")
            self._permitted[name] = permission is not None and permission["permission"] in PERMITTED
        return self._permitted[name]

    async def _list_pull_remarks(self, row: Row) -> list[Remark]:
        remarks = [await self._remark("c", each) for each in await self._list_comments(row["number"])]
        at = f"{self._root}/pulls/{row['number']}/reviews"
        for review in await self._client.pages(at, **self.page):
            if text_of(review.get("body")):
                remarks.append(await self._remark("v", review))
            if review.get("comments_count"):
                comments = await self._client.pages(f"{at}/{int(review['id'])}/comments")
                remarks += [await self._remark("r", each) for each in comments]
        return remarks

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        rows = await self._client.pages(f"{self._root}/commits/{commit}/status", "statuses", **self.page)
        if any(row["status"] == "pending" for row in rows):
            return None
        return tuple(check_of(row) for row in rows if row["status"] in BAD)

    async def _list_pulls_of(self, branch: str) -> list[Row]:
        rows = await self._client.pages(f"{self._root}/pulls", state="all", sort="recentupdate", **self.page)
        return [row for row in rows if row["head"]["ref"] == branch and _is_ours(row)]

    async def _open_pull(self, proposal: Proposal) -> Row:
        body = {
            "title": f"WIP: {proposal.title}",  # this prefix marks a draft
            "head": proposal.branch,
            "base": proposal.base,
            "body": proposal.text,
        }
        row: Row = await self._client.send("POST", f"{self._root}/pulls", body)
        return row


def _is_ours(row: Row) -> bool:
    """Check whether the pull request's branch belongs to this repository, not to a fork."""
    return bool(row["head"].get("repo_id") == row["base"].get("repo_id"))
