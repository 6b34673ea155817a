"""Gitea and Forgejo, through the REST API, version 1, which both support.

A person may give the agent work if that person has write permission for the repository. The permission is requested
once per author in each look at the forge. Only a token of an administrator of the repository may request it. The checks
of a commit are its statuses.
"""

from __future__ import annotations

from nightshift.remote.forges.client import PER_PAGE, Client, segment, text_of
from nightshift.remote.forges.port import Check, Comment, Issue, Person, Proposal, Pull, PullState, Remark, Seen, Watch
from nightshift.remote.forges.steps import Commenter, CommentPaths, Row, foremost, found_or_made, issues_of, pulls_of

PERMITTED = frozenset({"owner", "admin", "write"})
BAD = frozenset({"failure", "error"})


class Gitea:
    """One repository at Gitea or Forgejo; see `remote.forges.port.Forge`.

    Args:
        client: client for the API.
        project: owner and name, such as `octo/hello`.
    """

    def __init__(self, client: Client, project: str) -> None:
        self._client = client
        self._root = "/repos/" + "/".join(map(segment, project.split("/")))
        self._commenter = Commenter(client)
        self._permitted: dict[str, bool] = {}

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return f"{site}/api/v1"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        return {"Accept": "application/json", **({"Authorization": f"token {token}"} if token else {})}

    async def look(self, watch: Watch) -> Seen:
        """See `Forge.look`."""
        self._permitted.clear()
        repository: Row = await self._client.get(self._root)
        rows = await self._client.pages(
            f"{self._root}/issues", state="open", type="issues", labels=watch.label, limit=PER_PAGE
        )
        labelled_rows = {row["number"]: row for row in rows if not row.get("pull_request")}
        issues = await issues_of(
            self._client, watch, f"{self._root}/issues", labelled_rows, self._issue, self._list_remarks
        )
        pulls = await self._pulls(watch) if watch.pulls else ()
        return Seen(branch=text_of(repository["default_branch"]), issues=issues, pulls=pulls)

    async def _list_remarks(self, number: int) -> tuple[Remark, ...]:
        rows = await self._client.pages(f"{self._root}/issues/{number}/comments")
        return tuple([await self._remark("i", row) for row in rows])

    async def _pulls(self, watch: Watch) -> tuple[Pull, ...]:
        at = f"{self._root}/pulls"
        rows = await self._client.pages(at, state="open", limit=PER_PAGE)
        return await pulls_of(self._client, watch, at, {row["number"]: row for row in rows}, self._full_pull, _pull)

    async def _full_pull(self, row: Row) -> Pull:
        """Return an open pull request with its remarks and checks."""
        number = row["number"]
        comments = await self._client.pages(f"{self._root}/issues/{number}/comments")
        remarks = [await self._remark("c", each) for each in comments]
        for review in await self._client.pages(f"{self._root}/pulls/{number}/reviews", limit=PER_PAGE):
            if text_of(review.get("body")):
                remarks.append(await self._remark("v", review))
            if review.get("comments_count"):
                at = f"{self._root}/pulls/{number}/reviews/{int(review['id'])}/comments"
                remarks += [await self._remark("r", each) for each in await self._client.pages(at)]
        return _pull(row, tuple(remarks), await self._list_failed_checks(text_of(row["head"]["sha"])))

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        """List the failed statuses of a commit; None while some checks have not ended."""
        rows = await self._client.pages(f"{self._root}/commits/{commit}/status", "statuses", limit=PER_PAGE)
        if any(row["status"] == "pending" for row in rows):
            return None
        return tuple(
            Check(
                name=text_of(row["context"]), text=text_of(row.get("description")), url=text_of(row.get("target_url"))
            )
            for row in rows
            if row["status"] in BAD
        )

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or update it if it exists; return the comment's id."""
        at = f"{self._root}/issues"
        paths = CommentPaths(all=f"{at}/{comment.number}/comments", each=f"{at}/comments", method="PATCH", query={})
        return await self._commenter.write(comment, paths)

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the pull request, or return an existing pull request of the branch, even if it is closed or merged."""
        body = {
            "title": f"WIP: {proposal.title}",  # this prefix marks a draft
            "head": proposal.branch,
            "base": proposal.base,
            "body": proposal.text,
        }

        async def opened() -> Pull:
            return _pull(await self._client.send("POST", f"{self._root}/pulls", body))

        return await found_or_made(lambda: self._find_pull(proposal.branch), opened, 409)

    async def _find_pull(self, branch: str) -> Pull | None:
        rows = await self._client.pages(f"{self._root}/pulls", state="all", sort="recentupdate", limit=PER_PAGE)
        return foremost(_pull(row) for row in rows if row["head"]["ref"] == branch and _is_ours(row))

    async def _person(self, row: Row) -> Person:
        name = text_of((row.get("user") or {}).get("login"))
        if name not in self._permitted:
            permission = (
                await self._client.find(f"{self._root}/collaborators/{segment(name)}/permission") if name else None
            )
            self._permitted[name] = permission is not None and permission["permission"] in PERMITTED
        return Person(name=name, permitted=self._permitted[name])

    async def _issue(self, row: Row) -> Issue:
        return Issue(
            number=row["number"],
            title=text_of(row["title"]),
            text=text_of(row.get("body")),
            url=text_of(row.get("html_url")),
            author=await self._person(row),
            labels=tuple(text_of(each["name"]) for each in row["labels"] or ()),
            open=row["state"] == "open",
        )

    async def _remark(self, kind: str, row: Row) -> Remark:
        return Remark(
            id=f"{kind}{row['id']}",
            author=await self._person(row),
            text=text_of(row.get("body")),
            url=text_of(row.get("html_url")),
            path=text_of(row.get("path")),
            line=row.get("position") or row.get("original_position") or None,
            quoted=text_of(row.get("diff_hunk")),
        )


def _is_ours(row: Row) -> bool:
    """Check whether the pull request's branch belongs to this repository, not to a fork."""
    return bool(row["head"].get("repo_id") == row["base"].get("repo_id"))


def _pull(row: Row, remarks: tuple[Remark, ...] = (), failed: tuple[Check, ...] | None = None) -> Pull:
    is_open, merged = row["state"] == "open", bool(row.get("merged"))
    return Pull(
        number=row["number"],
        url=text_of(row.get("html_url")),
        branch=text_of(row["head"]["ref"]),
        head=text_of(row["head"]["sha"]),
        state=PullState.OPEN if is_open else PullState.MERGED if merged else PullState.CLOSED,
        remarks=remarks,
        failed=failed,
    )
