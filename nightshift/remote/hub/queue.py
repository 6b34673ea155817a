"""The queue that nodes share: each method is one function of the database, and one transaction.

A claim gives a task to a node under a fence; every later word of the node on it shows both, and who was overtaken gets
`StaleFence`. The right to tasks rests on the node's lease, which `beat` renews for all of them at once. Telling the
same end twice is harmless, since an answer may be lost on the way. Ids of tasks are the hub's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nightshift.core.clock import Moment, utc_now
from nightshift.core.errors import StaleFence, UnknownTask
from nightshift.core.tasks.queueing import Heartbeat, Submitted
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent, TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.storage.db.codec import decode, encode, storable

MAX_CRASHES = 5
TITLE_CHARS = 200
UNREAD_S = 60.0
NEWS = 100
"""So many messages are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A node's right to a task of the hub."""

    task_id: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A task that is this node's now. `spec.repo` is None: `repository` says for all nodes where the task works.

    `checkpoint` is the attempt as the node left it that had the task before, as text; None for one that is fresh.
    `origin_task` is its number on the node that it was submitted on.
    """

    held: Held
    spec: TaskSpec
    repository: str
    priority: int
    created_at: datetime
    origin: str
    origin_task: int | None
    checkpoint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTask:
    """A task as any node may read it. `node`, `origin`: ids of nodes; the names and addresses are theirs.

    `node_task` and `origin_task` are its numbers on these nodes, where they are known.
    """

    id: int
    title: str
    repository: str
    share: str
    needs: tuple[str, ...]
    priority: int
    status: Status
    ending: Ending | None
    reason: str
    attempt: int
    crashes: int
    node: str | None
    node_name: str | None
    node_url: str | None
    node_task: int | None
    origin: str
    origin_name: str
    origin_url: str
    origin_task: int | None
    not_before: Moment | None
    cancel_requested: bool
    commit: str | None
    branch: str | None
    iterations: int
    spent: Spent
    signature: str
    asks: str
    created_at: Moment
    claimed_at: Moment | None
    ended_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a task ended on a node; `signature` is the node's (`remote.hub.signing.signed_text`)."""

    status: Status
    ending: Ending
    reason: str = ""
    commit: str | None = None
    branch: str | None = None
    iterations: int = 0
    spent: Spent = field(default_factory=Spent)
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An owner's answer on some node to a question of this node's task; `approval_id` is this node's number."""

    id: int
    approval_id: int
    granted: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The hub's messages for a node in a turn; `news` are tasks to learn of, under the numbers of the messages."""

    claims: list[Claim]
    news: list[tuple[int, HubTask]]
    answers: list[Answer]


class HubQueue:
    """The queue as one node sees it; for any thread. Every method may raise `HubAway` or `HubRefused`.

    Args:
        connections: of the hub.
        node: the id of this node.
        lease_s: for how long a beat holds this node's tasks, in seconds.
    """

    def __init__(self, connections: HubConnections, node: str, lease_s: float = 60.0) -> None:
        self._hub, self.node, self._lease_s = connections, node, lease_s

    # What nodes do

    def submit(
        self,
        spec: TaskSpec,
        *,
        repository: str = "",
        share: str = "",
        created_at: datetime | None = None,
        origin_task: int | None = None,
    ) -> Submitted:
        """Store a task, or find the one that its key made before; `spec.depends_on` are the hub's ids.

        Args:
            spec: the task.
            repository: where it works, as all nodes understand it.
            share: what shares one turn among tasks of equal priority; empty: the repository.
            created_at: when its owner submitted it; None: now.
            origin_task: its number on this node.

        Raises:
            InvalidTask: it depends on a task that does not exist, has failed or was cancelled.
        """
        values = (
            *(spec.key and _plain(spec.key), encode(spec), _plain(_title(spec)), repository, share or repository),
            *(sorted(set(spec.needs)), spec.priority, spec.not_before, list(spec.depends_on)),
            *(self.node, origin_task, created_at),
        )
        row = self._hub.row(
            "SELECT * FROM submit(%s, %s, %s, %s, %s, %s::text[], %s, %s::timestamptz, %s::bigint[], %s, %s::bigint, "
            "coalesce(%s::timestamptz, clock_timestamp()))",
            values,
        )
        assert row, "submit gives one row"
        return Submitted(task_id=row["id"], status=Status(row["status"]), created=row["created"])

    def claim(self, most: int = 1) -> list[Claim]:
        """The next tasks, which are this node's from now on; none while the hub is paused or the node drains."""
        return self._claims(self._hub.rows(CLAIM, (self.node, most)))

    def turn(self, free: int) -> Heard:
        """All that the hub has for this node, in one round trip: as many tasks as are free, news, and answers."""
        calls = [(_NEWS, (self.node, NEWS)), (_ANSWERS, (self.node,)), *([(CLAIM, (self.node, free))] * (free > 0))]
        news, answers, *claimed = self._hub.together(calls)
        return Heard(
            claims=self._claims(claimed[0] if claimed else []),
            news=[(row["number"], _task(row)) for row in news],
            answers=[_answer(row) for row in answers],
        )

    def _claims(self, rows: Iterable[dict[str, Any]]) -> list[Claim]:
        return [claim for row in rows if (claim := self._claimed(row))]

    def _claimed(self, row: dict[str, Any]) -> Claim | None:
        """The claim of a row; what only a node of another version can read is given back."""
        held = Held(task_id=row["id"], fence=row["fence"])
        try:
            spec = decode(TaskSpec, row["spec"])
        except ValueError as error:
            self.put_back(held, f"this node cannot read it: {error}"[:500], utc_now() + timedelta(seconds=UNREAD_S))
            return None
        return Claim(
            held=held,
            spec=spec,
            repository=row["repository"],
            priority=row["priority"],
            created_at=row["created_at"],
            origin=row["origin"],
            origin_task=row["origin_task"],
            checkpoint=row["kept"],
        )

    def adopted(self, held: Held, node_task: int) -> None:
        """Tell under which number the task runs here.

        Raises:
            StaleFence: it is not this node's any more, as with all that follow.
        """
        self._tell("adopted(%s, %s, %s, %s)", held, node_task)

    def confirm(self, held: Held) -> None:
        """Make sure that it is this node's for as long as a lease lasts from now on."""
        self._tell("confirm(%s, %s, %s, %s)", held, self._lease_s)

    def queue_landing(self, held: Held, line: str, commit: str, branch: str, kind: str, signature: str) -> None:
        """Let a commit, at the remote on `branch`, wait in the merge queue of what `line` names."""
        self._tell("offer_landing(%s, %s, %s, %s, %s, %s, %s, %s)", held, line, commit, branch, kind, signature)

    def leave_landing(self, held: Held) -> None:
        """Let it wait no more."""
        self._hub.rows("SELECT leave_landing(%s, %s, %s)", (held.task_id, self.node, held.fence))

    def landing_of(self, held: Held) -> tuple[str | None, bool]:
        """The commit under which another node has landed it, and whether it has to be landed alone."""
        row = self._hub.row("SELECT * FROM landing_of(%s, %s, %s)", (held.task_id, self.node, held.fence))
        return (row["landed_as"], row["alone"]) if row else (None, False)

    def end_landings(self, line: str, landed: Mapping[int, str | None]) -> None:
        """Tell under which commit each of these tasks landed; None: it has to be landed alone."""
        self._hub.rows(
            "SELECT end_landings(%s, %s::bigint[], %s::text[])", (line, list(landed), list(landed.values()))
        )  # fmt: skip

    def keep(self, held: Held, checkpoint: str) -> None:
        """Keep the attempt as it is now, for the node that may have to go on with it."""
        self._tell("keep(%s, %s, %s, %s)", held, checkpoint)

    def finish(self, held: Held, result: Result) -> None:
        """Tell how it ended."""
        values = (
            *(result.status, result.ending, _plain(result.reason), result.commit, result.branch, result.iterations),
            *(json.dumps(asdict(result.spent)), result.signature),
        )
        self._tell("finish(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", held, *values)

    def put_back(self, held: Held, reason: str, not_before: datetime | None = None) -> None:
        """Give it back; its attempt goes on, here or elsewhere, not before that time."""
        self._tell("put_back(%s, %s, %s, %s, %s::timestamptz)", held, _plain(reason), not_before)

    def wait_for_owner(self, held: Held, asks: str) -> None:
        """Tell what it asks its owner, as JSON; empty: nothing any more, it goes on."""
        self._tell("wait_for_owner(%s, %s, %s, %s)", held, asks)

    def beat(self, owned: Iterable[Held], busy: int = 0, state: str = "") -> tuple[Heartbeat, dict[int, int]]:
        """Renew this node's lease, and tell what it does; what became of its tasks, and their priorities by their ids.

        The hub takes back what the node holds by its books and does not name, once a lease has passed since the claim.
        """
        pairs = list(owned)
        ids, fences = [one.task_id for one in pairs], [one.fence for one in pairs]
        query = "SELECT * FROM beat(%s, %s, %s, %s, %s::bigint[], %s::bigint[])"
        rows = self._hub.rows(query, (self.node, self._lease_s, busy, state, ids, fences))
        lost = frozenset(row["task"] for row in rows if not row["held"])
        cancelled = frozenset(row["task"] for row in rows if row["held"] and row["cancelled"])
        priorities = {row["task"]: row["priority"] for row in rows if row["held"]}
        return Heartbeat(lost=lost, cancelled=cancelled), priorities

    def sweep(self, max_crashes: int = MAX_CRASHES) -> int:
        """Take tasks from nodes whose lease is over, and queue what is due; how many were moved."""
        row = self._hub.row("SELECT sweep(%s) AS moved", (max_crashes,))
        return int(row["moved"]) if row else 0

    def news(self, most: int = NEWS) -> list[tuple[int, HubTask]]:
        """Return the news of this node's tasks: (number of the message, the task), oldest first."""
        return [(row["number"], _task(row)) for row in self._hub.rows(_NEWS, (self.node, most))]

    def read_news(self, numbers: Sequence[int]) -> None:
        """Remove messages that this node has stored; one that was replaced meanwhile stays."""
        self._hub.rows("SELECT read_news(%s, %s::bigint[])", (self.node, list(numbers)))

    def _tell(self, call: str, held: Held, *values: object) -> None:
        row = self._hub.row(f"SELECT {call} AS held", (held.task_id, self.node, held.fence, *values))
        if not (row and row["held"]):
            raise StaleFence

    # What owners do, from any node

    def cancel(self, task_id: int) -> Status:
        """Cancel a task at once, or ask the node that has it to; its status then.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: it has ended.
        """
        return self._asked("cancel(%s)", task_id)

    def retry(self, task_id: int) -> Status:
        """Queue a task again that failed or was cancelled; raises as `cancel`."""
        return self._asked("retry(%s)", task_id)

    def prioritise(self, task_id: int, priority: int) -> Status:
        """Let a task be claimed sooner (higher) or later; raises UnknownTask for one that is done, too."""
        return self._asked("prioritise(%s, %s)", task_id, priority)

    def revise(self, task_id: int, spec: TaskSpec, *, repository: str = "") -> Status:
        """Put another specification in the place of a task's; what it depends on stays.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: another node works on it, or it is done.
        """
        values = (self.node, encode(spec), _plain(_title(spec)), repository, sorted(set(spec.needs)), spec.priority)
        return self._asked(
            "revise(%s, %s, %s, %s, %s, %s::text[], %s, %s::timestamptz)", task_id, *values, spec.not_before
        )

    def answer(self, task_id: int, approval_id: int, *, granted: bool, text: str = "") -> Status:
        """Answer what a task asks; the node that has it decides by it. `approval_id` is that node's number.

        Raises:
            UnknownTask: there is none with that id.
            IllegalMove: it asks nothing.
        """
        return self._asked("answer(%s, %s, %s, %s)", task_id, approval_id, granted, _plain(text))

    def answers(self) -> list[Answer]:
        """Return the answers to tasks of this node, oldest first, until `read_answers`."""
        return [_answer(row) for row in self._hub.rows(_ANSWERS, (self.node,))]

    def inherit_answers(self, held: Held) -> list[Answer]:
        """Take what was answered to the node that had a task before, and was not read there; its numbers are that's."""
        rows = self._hub.rows("SELECT * FROM inherit_answers(%s, %s, %s)", (held.task_id, self.node, held.fence))
        return [_answer({"id": 0, **row}) for row in rows]

    def read_answers(self, numbers: Sequence[int]) -> None:
        """Remove answers that this node has taken."""
        self._hub.rows("SELECT read_answers(%s, %s::bigint[])", (self.node, list(numbers)))

    def pause(self, reason: str = "") -> None:
        """Let no node claim anything; what runs goes on."""
        self._hub.rows("SELECT pause_hub(%s)", (_plain(reason),))

    def resume(self) -> None:
        """Let nodes claim again."""
        self._hub.rows("SELECT resume_hub()")

    def paused(self) -> str | None:
        """Why nothing is claimed; None where it is."""
        row = self._hub.row("SELECT reason FROM pause_list")
        return None if row is None else str(row["reason"])

    def _asked(self, call: str, task_id: int, *values: object) -> Status:
        row = self._hub.row(f"SELECT {call} AS status", (task_id, *values))
        if row is None or row["status"] is None:
            raise UnknownTask(task_id)
        return Status(row["status"])

    # Reading

    def get(self, task_id: int) -> HubTask:
        """One task.

        Raises:
            UnknownTask: there is none with that id.
        """
        row = self._hub.row("SELECT * FROM task_list WHERE id = %s", (task_id,))
        if row is None:
            raise UnknownTask(task_id)
        return _task(row)

    def spec(self, task_id: int) -> TaskSpec:
        """Return the request of a task.

        Raises:
            UnknownTask: there is none with that id.
        """
        row = self._hub.row("SELECT spec FROM task_list WHERE id = %s", (task_id,))
        if row is None:
            raise UnknownTask(task_id)
        return decode(TaskSpec, row["spec"])

    def find(self, status: Status | None = None, limit: int = 50, after: int | None = None) -> list[HubTask]:
        """Tasks, the newest first; `after` is the last id of the page before."""
        rows = self._hub.rows(
            "SELECT * FROM task_list WHERE (%s::text IS NULL OR status = %s) AND (%s::bigint IS NULL OR id < %s) "
            "ORDER BY id DESC LIMIT %s",
            (status, status, after, after, limit),
        )
        return [_task(row) for row in rows]

    def counts(self) -> dict[Status, int]:
        """How many tasks have each status."""
        found = {row["status"]: row["count"] for row in self._hub.rows(_COUNTS)}
        return {status: found.get(status, 0) for status in Status}


CLAIM = "SELECT c.*, CASE WHEN c.attempt > 1 THEN checkpoint(c.id, c.node, c.fence) END AS kept FROM claim(%s, %s) AS c"
_NEWS = "SELECT n.number, t.* FROM news(%s, %s) AS n JOIN task_list t ON t.id = n.task ORDER BY n.number"
_ANSWERS = "SELECT id, approval, granted, answer FROM answers_for(%s)"
_COUNTS = "SELECT status, count(*) FROM task_list GROUP BY status"


def _answer(row: dict[str, Any]) -> Answer:
    return Answer(id=row["id"], approval_id=row["approval"], granted=row["granted"], text=row["answer"])


def _task(row: dict[str, Any]) -> HubTask:
    named = {name: row[name] for name in HubTask.__dataclass_fields__ if name in row}
    return HubTask(
        **{
            **named,
            "needs": tuple(row["needs"]),
            "status": Status(row["status"]),
            "ending": row["ending"] and Ending(row["ending"]),
            "spent": Spent(**json.loads(row["spent"])),
            "commit": row["commit_id"],
        }
    )


def _title(spec: TaskSpec) -> str:
    return spec.description.strip().partition("\n")[0][:TITLE_CHARS]


def _plain(text: str) -> str:
    """A text as PostgreSQL takes it: no NUL, no lone surrogate."""
    return storable(text).replace("\0", "�").encode("utf-8", "replace").decode()
