"""GitHub and GitHub Enterprise, through the REST API, version 2022-11-28.

GitHub's `author_association` decides whether a person may give the agent work. The checks of a commit are its check
runs together with its statuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nightshift.remote.forges.client import text_of
from nightshift.remote.forges.forge import CommentPaths, Forge, Row, check_of
from nightshift.remote.forges.port import Check, ForgeRefused, Proposal, Remark

VERSION = "2022-11-28"
PERMITTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
BAD = frozenset({"failure", "timed_out", "startup_failure"})
"""Conclusions of failed check runs that a change to the code may fix."""
BAD_STATES = frozenset({"failure", "error"})


class GitHub(Forge):
    """One repository at GitHub."""

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return "https://api.github.com" if site.endswith("://github.com") else f"{site}/api/v3"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        named = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
        return {**named, "Authorization": f"Bearer {token}"} if token else named

    def _comments(self, number: int, on_pull: bool) -> CommentPaths:  # noqa: ARG002  GitHub's pull requests are issues
        at = f"{self._root}/issues"
        return CommentPaths(all=f"{at}/{number}/comments", each=f"{at}/comments", method="PATCH", query=self.page)

    async def _is_permitted(self, row: Row) -> bool:
        return row.get("author_association") in PERMITTED

    async def _list_pull_remarks(self, row: Row) -> list[Remark]:
        at = f"{self._root}/pulls/{row['number']}"
        rows = [("c", each) for each in await self._list_comments(row["number"])]
        rows += [("r", each) for each in await self._client.pages(f"{at}/comments", **self.page)]
        rows += [("v", each) for each in await self._client.pages(f"{at}/reviews", **self.page) if each.get("body")]
        return [await self._remark(kind, each) for kind, each in rows]

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        at = f"{self._root}/commits/{commit}"
        runs = await self._client.pages(f"{at}/check-runs", "check_runs", **self.page)
        statuses = await self._client.pages(f"{at}/status", "statuses", **self.page)
        if any(run["status"] != "completed" for run in runs) or any(
            status["state"] == "pending" for status in statuses
        ):
            return None
        return (*_list_failed_runs(runs), *(check_of(status) for status in statuses if status["state"] in BAD_STATES))

    async def _list_pulls_of(self, branch: str) -> list[Row]:
        head = f"{self._project.partition('/')[0]}:{branch}"
        return await self._client.pages(f"{self._root}/pulls", state="all", head=head, **self.page)

    async def _open_pull(self, proposal: Proposal) -> Row:
        body: dict[str, object] = {"head": proposal.branch, "base": proposal.base, "body": proposal.text}
        try:
            return await self._send_pull({**body, "title": proposal.title, "draft": True})
        except ForgeRefused as refused:
            if refused.status != 422 or "draft pull requests" not in str(refused).lower():
                raise
            return await self._send_pull({**body, "title": f"Draft: {proposal.title}"})  # some plans have no drafts

    async def _send_pull(self, body: Mapping[str, object]) -> Row:
        row: Row = await self._client.send("POST", f"{self._root}/pulls", body)
        return row


def _list_failed_runs(runs: Iterable[Row]) -> Iterable[Check]:
    for run in runs:
        if run.get("conclusion") in BAD:
            output = run.get("output") or {}
            texts = (text_of(output.get(part)) for part in ("title", "summary", "text"))
            text = "\n".join(filter(None, texts))
            yield Check(name=text_of(run["name"]), text=text, url=text_of(run.get("html_url")))
