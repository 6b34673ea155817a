"""One repository at a forge. The base class has what all forges share; a subclass describes the API of one kind.

Each write looks for an existing comment or pull request before it creates one, so it can be repeated if an answer was
lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, ClassVar

from nightshift.remote.forges.client import PER_PAGE, Client, segment, text_of
from nightshift.remote.forges.port import (
    Check,
    Comment,
    ForgeAway,
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

Row = Mapping[str, Any]
Query = dict[str, Any]
"""Parameters of a request."""
STATES = {
    "open": PullState.OPEN, "opened": PullState.OPEN, "locked": PullState.OPEN, "merged": PullState.MERGED,
    "closed": PullState.CLOSED,
}  # fmt: skip
_GONE = frozenset({404, 410})
_TAKEN = frozenset({409, 422})
"""HTTP statuses with which forges refuse a second pull request of a branch."""


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
    query: Query


class Forge(ABC):
    """One repository at a forge. All methods may raise `ForgeAway` and `ForgeRefused`.

    Args:
        client: client for the API.
        project: the repository's name at the forge, such as `octo/hello`.

    Attributes:
        number_field: the field that contains the number of an issue or a pull request.
        text_field: the field that contains the text of an issue.
        url_field: the field that contains the address of an issue or a pull request, as a browser shows it.
        line_fields: the fields that may contain the line that a comment refers to.
        open_state: the state of an open issue or pull request.
        pulls_path: the path of the pull requests, below the repository's path.
        page: the parameters that set the length of a page.
    """

    number_field: ClassVar[str] = "number"
    text_field: ClassVar[str] = "body"
    url_field: ClassVar[str] = "html_url"
    line_fields: ClassVar[Sequence[str]] = ("line", "original_line")
    open_state: ClassVar[str] = "open"
    pulls_path: ClassVar[str] = "pulls"
    page: ClassVar[Query] = {"per_page": PER_PAGE}

    def __init__(self, client: Client, project: str) -> None:
        self._client, self._project, self._root = client, project, self._path_of(project)
        self._permitted: dict[object, bool] = {}
        self._me: object = None

    @staticmethod
    @abstractmethod
    def api(site: str) -> str:
        """Return the address of the API of a forge."""

    @staticmethod
    @abstractmethod
    def headers(token: str) -> dict[str, str]:
        """Return the headers to send with each request."""

    async def look(self, watch: Watch) -> Seen:
        """Return the current state of the watched issues and pull requests."""
        with _readable():
            self._permitted.clear()
            repository: Row = await self._client.get(self._root)
            rows = await self._client.pages(
                f"{self._root}/issues", state=self.open_state, labels=watch.label, **self._issues_query()
            )
            issues = await self._read_issues(watch, [row for row in rows if not row.get("pull_request")])
            pulls = await self._read_pulls(watch) if watch.pulls else ()
            branch = text_of(repository["default_branch"])
        if not branch:
            raise ForgeRefused(HTTPStatus.NOT_FOUND, "the repository has no branch yet; push a branch")
        return Seen(branch=branch, issues=issues, pulls=pulls)

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or update it if it exists; return the comment's id."""
        paths, body = self._comments(comment.number, comment.on_pull), {"body": f"{comment.marker}\n{comment.text}"}
        with _readable():
            comment_id = comment.id or await self._find_comment(comment.marker, paths)
            if comment_id:
                try:
                    await self._client.send(paths.method, f"{paths.each}/{segment(comment_id)}", body)
                except ForgeRefused as refused:
                    if refused.status not in _GONE:
                        raise
                else:
                    return comment_id
            return str((await self._client.send("POST", paths.all, body))["id"])

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the pull request, or return an existing pull request of the branch, even if it is closed or merged."""
        with _readable():
            if pull := await self._find_pull(proposal.branch):
                return pull
            try:
                return self._pull(await self._open_pull(proposal))
            except ForgeRefused as refused:
                if refused.status in _TAKEN and (pull := await self._find_pull(proposal.branch)):  # opened just now
                    return pull
                raise

    # The parts of the API in which forges differ.

    @staticmethod
    def _path_of(project: str) -> str:
        return "/repos/" + "/".join(map(segment, project.split("/")))

    def _issues_query(self) -> Query:
        """Return further parameters for the list of issues."""
        return self.page

    @abstractmethod
    def _comments(self, number: int, on_pull: bool) -> CommentPaths:
        """Return the paths for the comments on an issue or a pull request."""

    @abstractmethod
    async def _is_permitted(self, row: Row) -> bool:
        """Check whether the author of an issue or a comment may give work to the agent."""

    async def _remark(self, kind: str, row: Row, url: str = "") -> Remark:  # noqa: ARG002  GitLab needs it
        """Read a comment; `kind` begins its id, and `url` is the address of the issue or pull request."""
        return Remark(
            id=f"{kind}{row['id']}",
            author=await self._person(row),
            text=text_of(row.get("body")),
            url=text_of(row.get("html_url")),
            path=text_of(row.get("path")),
            line=next(filter(None, map(row.get, self.line_fields)), None),
            quoted=text_of(row.get("diff_hunk")),
        )

    @abstractmethod
    async def _list_pull_remarks(self, row: Row) -> Sequence[Remark]:
        """List the comments on an open pull request."""

    @abstractmethod
    async def _list_failed_checks(self, commit: str) -> tuple[Check, ...] | None:
        """List the failed checks of a commit; None while some checks have not ended."""

    @abstractmethod
    async def _list_pulls_of(self, branch: str) -> Sequence[Row]:
        """List the pull requests of a branch, in any state."""

    @abstractmethod
    async def _open_pull(self, proposal: Proposal) -> Row:
        """Open a draft pull request."""

    def _head(self, row: Row) -> tuple[str, str]:
        """Return the branch of a pull request, and the branch's newest commit."""
        return text_of(row["head"]["ref"]), text_of(row["head"]["sha"])

    # The steps that all forges share.

    async def _read_issues(self, watch: Watch, rows: Sequence[Row]) -> tuple[Issue, ...]:
        """Return the open issues with the label, and the known issues. Open issues contain their comments."""
        issues = {row[self.number_field]: await self._issue(row) for row in rows}
        for number in watch.issues:
            if number not in issues:
                row = await self._client.find(f"{self._root}/issues/{number}")
                issues[number] = await self._issue(row) if row else Issue(number=number)
            if issues[number].open:
                remarks = tuple([await self._remark("i", row) for row in await self._list_comments(number)])
                issues[number] = replace(issues[number], remarks=remarks)
        return tuple(issues.values())

    async def _read_pulls(self, watch: Watch) -> tuple[Pull, ...]:
        """Return Nightshift's pull requests that are open, and those that have ended since the last look.

        Only open pull requests contain their comments and checks.
        """
        at = f"{self._root}/{self.pulls_path}"
        rows = {row[self.number_field]: row for row in await self._client.pages(at, state=self.open_state, **self.page)}
        pulls = [await self._full_pull(row) for number, row in rows.items() if number in watch.pulls]
        ended = [await self._client.find(f"{at}/{number}") for number in watch.open_pulls if number not in rows]
        return (*pulls, *(self._pull(row) for row in ended if row))

    async def _list_comments(self, number: int, *, on_pull: bool = False) -> list[Row]:
        """List the comments of people on an issue or a pull request."""
        paths = self._comments(number, on_pull)
        return [row for row in await self._client.pages(paths.all, **paths.query) if not row.get("system")]

    async def _find_comment(self, marker: str, paths: CommentPaths) -> str:
        """Return the id of our comment with this marker; empty if there is none. Ignores comments of other users."""
        if self._me is None:
            self._me = (await self._client.get("/user"))["id"]
        rows = await self._client.pages(paths.all, **paths.query)
        ours = (row for row in rows if _author(row).get("id") == self._me)
        return next((str(row["id"]) for row in ours if text_of(row.get("body")).startswith(marker)), "")

    async def _find_pull(self, branch: str) -> Pull | None:
        """Return the open pull request among those of a branch; if none is open, the newest one."""
        pulls = map(self._pull, await self._list_pulls_of(branch))
        return max(pulls, key=lambda pull: (pull.state is PullState.OPEN, pull.number), default=None)

    async def _person(self, row: Row) -> Person:
        """Return the author of an issue or a comment."""
        user = _author(row)
        name = text_of(user.get("login") or user.get("username"))
        return Person(name=name, permitted=bool(name) and await self._is_permitted(row))

    async def _issue(self, row: Row) -> Issue:
        labels = (each.get("name") if isinstance(each, Mapping) else each for each in row["labels"] or ())
        return Issue(
            number=row[self.number_field],
            title=text_of(row["title"]),
            text=text_of(row.get(self.text_field)),
            url=text_of(row.get(self.url_field)),
            author=await self._person(row),
            labels=tuple(map(text_of, labels)),
            open=row["state"] == self.open_state,
        )

    def _pull(self, row: Row) -> Pull:
        (branch, head), state = self._head(row), STATES[row["state"]]
        if state is PullState.CLOSED and (row.get("merged") or row.get("merged_at")):
            state = PullState.MERGED
        return Pull(
            number=row[self.number_field], url=text_of(row.get(self.url_field)), branch=branch, head=head, state=state
        )

    async def _full_pull(self, row: Row) -> Pull:
        """Return an open pull request with its remarks and checks."""
        pull, remarks = self._pull(row), tuple(await self._list_pull_remarks(row))
        return replace(pull, remarks=remarks, failed=await self._list_failed_checks(pull.head))


def check_of(row: Row) -> Check:
    """Read a status of a commit."""
    name = text_of(row.get("context") or row["name"])
    return Check(name=name, text=text_of(row.get("description")), url=text_of(row.get("target_url")))


def _author(row: Row) -> Row:
    author: Row = row.get("user") or row.get("author") or {}
    return author


@contextmanager
def _readable() -> Iterator[None]:
    """Raise `ForgeAway` if an answer of the forge is malformed."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ForgeAway(f"the forge's answer does not have the form that its API documents: {error!r}"[:300]) from error
