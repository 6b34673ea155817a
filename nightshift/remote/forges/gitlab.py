"""GitLab, through its REST API, version 4. GitLab calls a pull request a merge request.

A person may give the agent work if that person's access level for the project is high enough. The level is requested
once per author in each look at the forge. The checks of a commit are its statuses, which in GitLab include the jobs of
its pipelines.
"""

from __future__ import annotations

from nightshift.remote.forges.client import PER_PAGE, Client, segment, text_of
from nightshift.remote.forges.port import Check, Comment, Issue, Person, Proposal, Pull, PullState, Remark, Seen, Watch
from nightshift.remote.forges.steps import Commenter, CommentPaths, Row, foremost, found_or_made, issues_of, pulls_of

DEVELOPER = 30
"""The lowest access level that may push to the project."""
RUNNING = frozenset({
    "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "canceling",
})  # fmt: skip
"""Statuses of jobs that will end without action by a person. Jobs that are started manually or at a later time have
other statuses, and nothing waits for them.
"""
STATES = {"opened": PullState.OPEN, "locked": PullState.OPEN, "merged": PullState.MERGED, "closed": PullState.CLOSED}


class GitLab:
    """One project at GitLab; see `remote.forges.port.Forge`.

    Args:
        client: client for the API.
        project: the project's path, including its groups.
    """

    def __init__(self, client: Client, project: str) -> None:
        self._client, self._root = client, f"/projects/{segment(project)}"
        self._commenter = Commenter(client)
        self._levels: dict[int, int] = {}

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return f"{site}/api/v4"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        return {"PRIVATE-TOKEN": token} if token else {}

    async def look(self, watch: Watch) -> Seen:
        """See `Forge.look`."""
        self._levels.clear()
        project: Row = await self._client.get(self._root)
        rows = await self._client.pages(f"{self._root}/issues", state="opened", labels=watch.label, per_page=PER_PAGE)
        labelled_rows = {row["iid"]: row for row in rows}
        issues = await issues_of(
            self._client, watch, f"{self._root}/issues", labelled_rows, self._issue, self._list_remarks
        )
        pulls = await self._pulls(watch) if watch.pulls else ()
        return Seen(branch=text_of(project["default_branch"]), issues=issues, pulls=pulls)

    async def _list_remarks(self, number: int) -> tuple[Remark, ...]:
        at = f"{self._root}/issues/{number}/notes"
        rows = await self._client.pages(at, sort="asc", order_by="created_at", per_page=PER_PAGE)
        return tuple([await self._remark("i", row, "") for row in rows if not row.get("system")])

    async def _pulls(self, watch: Watch) -> tuple[Pull, ...]:
        at = f"{self._root}/merge_requests"
        rows = await self._client.pages(at, state="opened", per_page=PER_PAGE)
        return await pulls_of(self._client, watch, at, {row["iid"]: row for row in rows}, self._full_pull, _pull)

    async def _full_pull(self, row: Row) -> Pull:
        """Return an open merge request with its remarks and checks."""
        notes = await self._client.pages(
            f"{self._root}/merge_requests/{row['iid']}/notes", sort="asc", order_by="created_at", per_page=PER_PAGE
        )
        remarks = [
            await self._remark("n", note, text_of(row.get("web_url"))) for note in notes if not note.get("system")
        ]
        return _pull(row, tuple(remarks), await self._list_failed_checks(text_of(row["sha"])))

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        """List the failed statuses of a commit, without those that are allowed to fail.

        Returns None while some checks have not ended.
        """
        rows = await self._client.pages(f"{self._root}/repository/commits/{commit}/statuses", per_page=PER_PAGE)
        if any(row["status"] in RUNNING for row in rows):
            return None
        bad = [row for row in rows if row["status"] == "failed" and not row.get("allow_failure")]
        return tuple(
            Check(name=text_of(row["name"]), text=text_of(row.get("description")), url=text_of(row.get("target_url")))
            for row in bad
        )

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or update it if it exists; return the comment's id."""
        at = f"{self._root}/{'merge_requests' if comment.on_pull else 'issues'}/{comment.number}/notes"
        query: dict[str, str | int] = {"sort": "asc", "order_by": "created_at", "per_page": PER_PAGE}
        return await self._commenter.write(comment, CommentPaths(all=at, each=at, method="PUT", query=query))

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the merge request, or return an existing merge request of the branch, even if it is closed or merged."""
        body = {
            "source_branch": proposal.branch,
            "target_branch": proposal.base,
            "title": f"Draft: {proposal.title}",
            "description": proposal.text,
        }

        async def opened() -> Pull:
            return _pull(await self._client.send("POST", f"{self._root}/merge_requests", body))

        return await found_or_made(lambda: self._find_pull(proposal.branch), opened, 409)

    async def _find_pull(self, branch: str) -> Pull | None:
        rows = await self._client.pages(
            f"{self._root}/merge_requests", state="all", source_branch=branch, per_page=PER_PAGE
        )
        return foremost(map(_pull, rows))

    async def _person(self, author: Row) -> Person:
        member = author["id"]
        if member not in self._levels:
            row = await self._client.find(f"{self._root}/members/all/{int(member)}")
            active = row and row.get("state", "active") == "active"
            self._levels[member] = int(row["access_level"]) if active else 0
        return Person(name=text_of(author.get("username")), permitted=self._levels[member] >= DEVELOPER)

    async def _issue(self, row: Row) -> Issue:
        return Issue(
            number=row["iid"],
            title=text_of(row["title"]),
            text=text_of(row.get("description")),
            url=text_of(row.get("web_url")),
            author=await self._person(row["author"]),
            labels=tuple(map(text_of, row["labels"])),
            open=row["state"] == "opened",
        )

    async def _remark(self, kind: str, row: Row, url: str) -> Remark:
        position = row.get("position") or {}
        return Remark(
            id=f"{kind}{row['id']}",
            author=await self._person(row["author"]),
            text=text_of(row.get("body")),
            url=f"{url}#note_{row['id']}",
            path=text_of(position.get("new_path") or position.get("old_path")),
            line=position.get("new_line") or position.get("old_line"),
        )


def _pull(row: Row, remarks: tuple[Remark, ...] = (), failed: tuple[Check, ...] | None = None) -> Pull:
    return Pull(
        number=row["iid"],
        url=text_of(row.get("web_url")),
        branch=text_of(row["source_branch"]),
        head=text_of(row.get("sha")),
        state=STATES[row["state"]],
        remarks=remarks,
        failed=failed,
    )
