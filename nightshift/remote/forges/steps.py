"""The steps that all forges share: how to search objects, and how to create each comment and pull request only once.

Each step looks for an existing object before it creates one, so the step can be repeated if an answer was lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightshift.remote.forges.client import Client, segment, text_of
from nightshift.remote.forges.port import Comment, ForgeRefused, Issue, Pull, PullState, Remark, Watch

Row = Mapping[str, Any]
GONE = frozenset({404, 410})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPaths:
    """The API paths for the comments on an issue or a pull request.

    Attributes:
        all: path of the list of comments.
        each: parent path of a single comment.
        method: HTTP method that changes a comment.
        query: parameters of requests for the list.
    """

    all: str
    each: str
    method: str
    query: Mapping[str, str | int]


class Commenter:
    """Writes or updates Nightshift's single comment on an issue or a pull request.

    Args:
        client: client for the API.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._me: object = None

    async def write(self, comment: Comment, paths: CommentPaths) -> str:
        """Write the comment, or update it if it exists; return the comment's id."""
        body = {"body": f"{comment.marker}\n{comment.text}"}
        comment_id = comment.id or await self._find_comment(comment.marker, paths)
        if comment_id:
            try:
                await self._client.send(paths.method, f"{paths.each}/{segment(comment_id)}", body)
            except ForgeRefused as refused:
                if refused.status not in GONE:
                    raise
            else:
                return comment_id
        return str((await self._client.send("POST", paths.all, body))["id"])

    async def _find_comment(self, marker: str, paths: CommentPaths) -> str:
        """Return the id of our comment with this marker; empty if there is none. Ignores comments of other users."""
        if self._me is None:
            self._me = (await self._client.get("/user"))["id"]
        rows = await self._client.pages(paths.all, "", **paths.query)
        ours = (row for row in rows if (row.get("user") or row.get("author") or {}).get("id") == self._me)
        return next((str(row["id"]) for row in ours if text_of(row.get("body")).startswith(marker)), "")


async def found_or_made(
    find: Callable[[], Awaitable[Pull | None]], make: Callable[[], Awaitable[Pull]], taken: int
) -> Pull:
    """Return the pull request of a branch; open a pull request if there is none.

    Args:
        find: looks for a pull request of the branch, in any state.
        make: opens a pull request.
        taken: the HTTP status with which the forge refuses a second pull request of the branch.
    """
    if pull := await find():
        return pull
    try:
        return await make()
    except ForgeRefused as refused:
        if refused.status == taken and (pull := await find()):  # it was opened just now
            return pull
        raise


def foremost(pulls: Iterable[Pull]) -> Pull | None:
    """Return the open pull request among those of a branch; if none is open, the newest one."""
    return max(pulls, key=lambda pull: (pull.state is PullState.OPEN, pull.number), default=None)


async def issues_of(
    client: Client,
    watch: Watch,
    at: str,
    rows: Mapping[int, Row],
    read: Callable[[Row], Awaitable[Issue]],
    remarks: Callable[[int], Awaitable[tuple[Remark, ...]]],
) -> tuple[Issue, ...]:
    """Return the open issues with the label, and the known issues. Open issues contain their comments.

    Args:
        client: client for the API.
        watch: which issues to look at.
        at: parent path of the issues.
        rows: the open issues with the label, by number.
        read: converts a row of the API to an issue.
        remarks: fetches the comments on an issue.
    """
    issues = {number: await read(row) for number, row in rows.items()}
    for number in watch.issues:
        if number not in issues:
            row = await client.find(f"{at}/{number}")
            issues[number] = await read(row) if row else Issue(number=number)
        if issues[number].open:
            issues[number] = replace(issues[number], remarks=await remarks(number))
    return tuple(issues.values())


async def pulls_of(
    client: Client,
    watch: Watch,
    at: str,
    rows: Mapping[int, Row],
    full: Callable[[Row], Awaitable[Pull]],
    brief: Callable[[Row], Pull],
) -> tuple[Pull, ...]:
    """Return Nightshift's pull requests that are open, and those that have ended since the last look.

    Only open pull requests contain their comments and checks.

    Args:
        client: client for the API.
        watch: which pull requests to look at.
        at: parent path of the pull requests.
        rows: all open pull requests, by number.
        full: fetches a pull request's comments and check results.
        brief: converts a row of the API to a pull request without them.
    """
    pulls = [await full(row) for number, row in rows.items() if number in watch.pulls]
    ended = [await client.find(f"{at}/{number}") for number in watch.open_pulls if number not in rows]
    return (*pulls, *(brief(row) for row in ended if row))
