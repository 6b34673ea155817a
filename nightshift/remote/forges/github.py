"""GitHub and GitHub Enterprise, through the REST API, version 2022-11-28.

GitHub's `author_association` decides whether a person may give the agent work. The checks of a commit are its check
runs together with its statuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nightshift.remote.forges.client import PER_PAGE, Client, segment, text_of
from nightshift.remote.forges.port import (
    Check,
    Comment,
    ForgeRefused,
    Issue,
    Person,
    Proposal,
    Pull,
    PullState,
    Remark,
    Seen,
    Watch,
)
from nightshift.remote.forges.steps import Commenter, CommentPaths, Row, foremost, found_or_made, issues_of, pulls_of

VERSION = "2022-11-28"
PERMITTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
BAD = frozenset({"failure", "timed_out", "startup_failure"})
"""Conclusions of failed check runs that a change to the code may fix."""
BAD_STATES = frozenset({"failure", "error"})


class GitHub:
    """One repository at GitHub; see `remote.forges.port.Forge`.

    Args:
        client: client for the API.
        project: owner and name, such as `octo/hello`.
    """

    def __init__(self, client: Client, project: str) -> None:
        self._client, self._project = client, project
        self._root = "/repos/" + "/".join(map(segment, project.split("/")))
        self._commenter = Commenter(client)

    @staticmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""
        return "https://api.github.com" if site.endswith("://github.com") else f"{site}/api/v3"

    @staticmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""
        named = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
        return {**named, "Authorization": f"Bearer {token}"} if token else named

    async def look(self, watch: Watch) -> Seen:
        """See `Forge.look`."""
        repository: Row = await self._client.get(self._root)
        rows = await self._client.pages(f"{self._root}/issues", state="open", labels=watch.label, per_page=PER_PAGE)
        labelled_rows = {row["number"]: row for row in rows if "pull_request" not in row}
        issues = await issues_of(self._client, watch, f"{self._root}/issues", labelled_rows, _issue, self._list_remarks)
        pulls = await self._pulls(watch) if watch.pulls else ()
        return Seen(branch=text_of(repository["default_branch"]), issues=issues, pulls=pulls)

    async def _list_remarks(self, number: int) -> tuple[Remark, ...]:
        rows = await self._client.pages(f"{self._root}/issues/{number}/comments", per_page=PER_PAGE)
        return tuple(_remark("i", row) for row in rows)

    async def _pulls(self, watch: Watch) -> tuple[Pull, ...]:
        at = f"{self._root}/pulls"
        rows = await self._client.pages(at, state="open", per_page=PER_PAGE)
        return await pulls_of(self._client, watch, at, {row["number"]: row for row in rows}, self._full_pull, _pull)

    async def _full_pull(self, row: Row) -> Pull:
        """Return an open pull request with its remarks and checks."""
        number, head = row["number"], text_of(row["head"]["sha"])
        comments = await self._client.pages(f"{self._root}/issues/{number}/comments", per_page=PER_PAGE)
        lines = await self._client.pages(f"{self._root}/pulls/{number}/comments", per_page=PER_PAGE)
        reviews = await self._client.pages(f"{self._root}/pulls/{number}/reviews", per_page=PER_PAGE)
        remarks = (
            *(_remark("c", each) for each in comments),
            *(_remark("r", each) for each in lines),
            *(_remark("v", each) for each in reviews if each.get("body")),
        )
        return _pull(row, remarks, await self._list_failed_checks(head))

    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        """List the failed checks of a commit; None while some checks have not ended."""
        at = f"{self._root}/commits/{commit}"
        runs = await self._client.pages(f"{at}/check-runs", "check_runs", per_page=PER_PAGE)
        statuses = await self._client.pages(f"{at}/status", "statuses", per_page=PER_PAGE)
        if any(run["status"] != "completed" for run in runs) or any(
            status["state"] == "pending" for status in statuses
        ):
            return None
        return tuple(_checks(runs, statuses))

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or update it if it exists; return the comment's id."""
        at = f"{self._root}/issues"
        paths = CommentPaths(
            all=f"{at}/{comment.number}/comments", each=f"{at}/comments", method="PATCH", query={"per_page": PER_PAGE}
        )
        return await self._commenter.write(comment, paths)

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the pull request, or return an existing pull request of the branch, even if it is closed or merged."""
        body: dict[str, object] = {"head": proposal.branch, "base": proposal.base, "body": proposal.text}

        async def opened() -> Pull:
            try:
                return await self._open_pull({**body, "title": proposal.title, "draft": True})
            except ForgeRefused as refused:
                if refused.status != 422 or "draft pull requests" not in str(refused).lower():
                    raise
                return await self._open_pull({**body, "title": f"Draft: {proposal.title}"})  # some plans have no drafts

        return await found_or_made(lambda: self._find_pull(proposal.branch), opened, 422)

    async def _open_pull(self, body: Mapping[str, object]) -> Pull:
        return _pull(await self._client.send("POST", f"{self._root}/pulls", body))

    async def _find_pull(self, branch: str) -> Pull | None:
        head = f"{self._project.partition('/')[0]}:{branch}"
        rows = await self._client.pages(f"{self._root}/pulls", state="all", head=head, per_page=PER_PAGE)
        return foremost(map(_pull, rows))


def _person(row: Row) -> Person:
    user = row.get("user") or {}
    return Person(name=text_of(user.get("login")), permitted=row.get("author_association") in PERMITTED)


async def _issue(row: Row) -> Issue:
    return Issue(
        number=row["number"],
        title=text_of(row["title"]),
        text=text_of(row.get("body")),
        url=text_of(row.get("html_url")),
        author=_person(row),
        labels=tuple(text_of(each.get("name")) if isinstance(each, Mapping) else str(each) for each in row["labels"]),
        open=row["state"] == "open",
    )


def _pull(row: Row, remarks: tuple[Remark, ...] = (), failed: tuple[Check, ...] | None = None) -> Pull:
    merged = bool(row.get("merged_at"))
    is_open = row["state"] == "open"
    return Pull(
        number=row["number"],
        url=text_of(row.get("html_url")),
        branch=text_of(row["head"]["ref"]),
        head=text_of(row["head"]["sha"]),
        state=PullState.OPEN if is_open else PullState.MERGED if merged else PullState.CLOSED,
        remarks=remarks,
        failed=failed,
    )


def _remark(kind: str, row: Row) -> Remark:
    return Remark(
        id=f"{kind}{row['id']}",
        author=_person(row),
        text=text_of(row.get("body")),
        url=text_of(row.get("html_url")),
        path=text_of(row.get("path")),
        line=row.get("line") or row.get("original_line"),
        quoted=text_of(row.get("diff_hunk")),
    )


def _checks(runs: Iterable[Row], statuses: Iterable[Row]) -> Iterable[Check]:
    for run in runs:
        if run.get("conclusion") in BAD:
            output = run.get("output") or {}
            texts = (text_of(output.get(part)) for part in ("title", "summary", "text"))
            text = "\n".join(filter(None, texts))
            yield Check(name=text_of(run["name"]), text=text, url=text_of(run.get("html_url")))
    for status in statuses:
        if status["state"] in BAD_STATES:
            url = text_of(status.get("target_url"))
            yield Check(name=text_of(status["context"]), text=text_of(status.get("description")), url=url)
