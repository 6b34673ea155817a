"""Long-term memory, as the agent uses it (`core.ports.Memory`).

A failure is stored when it happens. When the task is solved, the failure gets its fix (the diff from the failing change
to the passing one), and the advice of the last reflection in one line. A pattern describes how the whole task was
solved. When an attempt ends, its result is logged for each lesson that matched it, whether the attempt saw the lesson
or not. A lesson that does not help retires (`storage.memory.lesson_standing`).

`storage.memory.embedding_space` decides which embedder searches for lessons.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.function_shapes import list_changed_by_fix, shapes_of
from nightshift.core.events import Emitter, Kind
from nightshift.core.ports import Sink
from nightshift.core.shares import Share
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.text.masking import Masker
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere, fingerprints, recall_log, rows
from nightshift.storage.memory.elsewhere import Item, News
from nightshift.storage.memory.embedders import Choice, Embedder
from nightshift.storage.memory.embedding_space import Beside, EmbeddingSpaces
from nightshift.storage.memory.lesson_standing import Standing, standing
from nightshift.storage.memory.lessons import as_patch, difference, errors_of, format_lesson, from_patch, lesson_of
from nightshift.storage.memory.recall_log import Assignment, MemoryUplift, Recalled
from nightshift.storage.memory.rows import Stored
from nightshift.storage.memory.signature import is_error, is_general, signature
from nightshift.storage.memory.vector_index import LessonKind, Near, forget_vectors

CANDIDATES = 20
PROBATION_SHARE = 0.5
"""Share of cases in which a suspect lesson (one that seems not to help) is withheld."""
HALF_LIFE_S = 365 * 86_400.0
"""Age of a lesson in seconds after which its similarity counts half as much as that of a new lesson."""


class LongTermMemory:
    """The long-term memory. Thread-safe, and quick if nothing was learned yet.

    Args:
        db: the database.
        embedder: the result of `storage.memory.embedders.choose`.
        clock: returns the time of stored memories.
        emit: receives the events, such as that the better embedder is ready or missing.
        masker: removes secrets from stored texts.
        control_share: share of the attempts that see no lessons, so that the value of lessons can be measured.
    """

    def __init__(
        self,
        db: Database,
        embedder: Choice,
        *,
        clock: Clock = utc_now,
        emit: Sink,
        masker: Masker | None = None,
        control_share: float = 0.1,
    ) -> None:
        self._control_share = control_share
        self._db, self._clock, self._events = db, clock, Emitter(emit)
        self._masker = masker or Masker()
        self._spaces = EmbeddingSpaces(db, embedder, clock=clock, emit=emit)

    @property
    def description(self) -> str:
        """Name of the embedder in use, for the owner."""
        return self._spaces.description

    @property
    def better_embedder(self) -> Embedder | None:
        """The embedder that the settings ask for, once it has embedded all memories; None until then."""
        return self._spaces.better

    def search_beside(self, find: Beside) -> None:
        """Let searches also use the vectors from `find`, until the better embedder has embedded all memories."""
        self._spaces.beside = find

    def close(self) -> None:
        """Wait for the embedder that is being loaded; the database stays open. May be called twice."""
        self._spaces.close()

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        """Return the nearest lessons, best first, at most one from each task. For a task, return only relevant lessons.

        If a task is given, its attempt may be in the control group, which sees no lessons. The lessons that the attempt
        would have seen are logged.

        Raises:
            StoreError: the database cannot be read or written.
        """
        if limit <= 0 or not query.strip():
            return ()
        near = await asyncio.to_thread(self._nearest, self._masker(query), limit, task_id)
        if not near or task_id is None:
            return tuple(map(self._lesson, near))
        return await asyncio.to_thread(self._assign, near, task_id, attempt)

    async def find_failed_before(
        self, digests: Collection[str], *, task_id: int | None = None, attempt: int = 1
    ) -> Mapping[str, Lesson]:
        """Return those of the given functions that failed in earlier tasks, each with the lesson from that failure.

        Functions are given by their fingerprints (`core.code.function_shapes`). If a task is given and its attempt is
        in the control group, the result is empty. The lessons that the attempt would have seen are logged.

        Raises:
            StoreError: the database cannot be read or written.
        """
        return await asyncio.to_thread(self._find_failed_before, digests, task_id, attempt)

    def uplift(self) -> MemoryUplift:
        """Measure the value of memory so far."""
        return recall_log.uplift(self._db.reader())

    def search(self, query: str, limit: int) -> list[Near]:
        """Return the lessons nearest to a text, best first, as a recall would find them. Logs nothing. Blocks.

        Raises:
            StoreError: the database cannot be read or written.
        """
        if limit <= 0 or not query.strip() or not rows.any_lesson(self._db.reader()):
            return []
        return self._near(self._masker(query), limit)[:limit]

    def retire(self, kind: LessonKind, item: int) -> Future[bool]:
        """Stop recalling a lesson, as its owner asked. The result is False if it was retired before or is unknown."""
        at = self._clock()

        def job(conn: Connection) -> bool:
            if not rows.retire(conn, kind, item, "owner", at):
                return False
            forget_vectors(conn, [(kind, item)])
            self._report(Kind.LESSON_RETIRED, kind, item, "is retired by its owner")
            return True

        return self._db.write(job)

    def restore(self, kind: LessonKind, item: int) -> Future[bool]:
        """Recall a retired lesson again, and ignore its earlier results. The result is False if it was not retired."""
        at = self._clock()

        def job(conn: Connection) -> bool:
            if not rows.restore(conn, kind, item, at):
                return False
            self._report(Kind.LESSON_RESTORED, kind, item, "is used again, as its owner asked")
            return True

        return self._db.write(job)

    def hear(self, news: News) -> Future[None]:
        """Store what other nodes found out about lessons, and judge these lessons again by the counts of all nodes."""
        at = self._clock()

        def job(conn: Connection) -> None:
            gone = elsewhere.take(conn, news)
            everyone = recall_log.withheld(conn)
            item_tallies = [(item, tally) for key, tally in news.tallies.items() for item in elsewhere.items(conn, key)]
            for item, tally in item_tallies:
                rows.judge_from(conn, *item, tally.judged_from)
                if self._judge_again(conn, item, everyone, at) is Standing.RETIRED:
                    gone.append(item)
            forget_vectors(conn, gone)

        return self._db.write_retrying(job)

    async def remember(self, work: AttemptState, task_id: int, description: str) -> None:  # noqa: ARG002  tasks has it too
        """Store the failures of the last verdict of `work`. Failures that the attempt met before are updated.

        Raises:
            StoreError: the database cannot be written.
        """
        verdict, at, masker = work.verdict, self._clock(), self._masker
        if verdict is None or verdict.passed:
            return
        errors = {masker(key): masker(error) for key, error in (await asyncio.to_thread(errors_of, verdict)).items()}
        code = masker(as_patch(work.change))
        write = self._db.write(lambda conn: rows.add_failures(conn, task_id, work.attempt, errors, code, at))
        await asyncio.wrap_future(write)

    async def conclude(self, work: AttemptState, task_id: int, solved: bool) -> None:
        """Record how an attempt ended: add fixes to the failures of a solved task, and count the result for lessons.

        The result counts for the recalled lessons. Each attempt is counted only once. If the daemon dies before the
        task is finished, this method is called a second time for the attempt, but no lesson is counted twice.

        Raises:
            StoreError: the database cannot be written.
        """
        await asyncio.to_thread(self._conclude, work, task_id, solved)

    def _nearest(self, query: str, limit: int, task_id: int | None) -> tuple[Stored, ...]:
        conn = self._db.reader()
        if not rows.any_lesson(conn):
            return ()
        language_and_repo = rows.read_language_and_repo(conn, task_id) if task_id is not None else None
        near = self._near(query, max(CANDIDATES, 4 * limit))
        best: dict[object, tuple[float, Stored]] = {}
        for stored in rows.read_stored(conn, near):
            if language_and_repo and not _concerns(stored, *language_and_repo):
                continue
            worth, source = self._worth(stored), stored.task_id or (stored.kind, stored.id)
            if worth > best.get(source, (0.0, stored))[0]:
                best[source] = (worth, stored)
        ranked = sorted(best.values(), key=lambda pair: -pair[0])
        return tuple(stored for _, stored in ranked[:limit])

    def _near(self, query: str, limit: int) -> list[Near]:
        # If the query names no error, one text is used for both kinds, since embedding a second text takes longer than
        # the rest of a recall.
        failure = (is_error(query) and signature(query)) or query
        return self._spaces.nearest({"failure": failure, "pattern": query}, limit)

    def _find_failed_before(self, digests: Collection[str], task_id: int | None, attempt: int) -> dict[str, Lesson]:
        failures = fingerprints.failures(self._db.reader(), digests)
        near = [Near(kind="failure", item=item, similarity=1.0) for item in sorted(set(failures.values()))]
        candidates = rows.read_stored(self._db.reader(), near)
        if task_id is not None:
            language_and_repo = rows.read_language_and_repo(self._db.reader(), task_id)
            candidates = [
                stored for stored in candidates if stored.task_id != task_id and _concerns(stored, *language_and_repo)
            ]
        if not candidates:
            return {}
        seen = (
            self._assign(candidates, task_id, attempt) if task_id is not None else tuple(map(self._lesson, candidates))
        )
        lessons = {lesson.id: lesson for lesson in seen}
        return {digest: lessons[item] for digest, item in failures.items() if item in lessons}

    def _assign(self, near: Sequence[Stored], task_id: int, attempt: int) -> tuple[Lesson, ...]:
        """Return the lessons that the attempt is assigned to see. All matches are logged before any lesson is shown."""
        conn, at = self._db.reader(), self._clock()
        assigned = {stored: self._assignment(conn, stored, task_id, attempt) for stored in near}
        log = [
            Recalled(kind=stored.kind, item=stored.id, arm=arm, score=stored.similarity)
            for stored, arm in assigned.items()
        ]
        self._db.write(lambda conn: recall_log.add(conn, task_id, attempt, log, at)).result()
        return tuple(self._lesson(stored) for stored, arm in assigned.items() if arm is Assignment.SHOWN)

    def _assignment(self, conn: Connection, stored: Stored, task_id: int, attempt: int) -> Assignment:
        if recall_log.draw("attempt", rows.read_identity(conn, task_id), attempt) < self._control_share:
            return Assignment.CONTROL
        suspect = rows.standing(conn, stored.kind, stored.id) is Standing.SUSPECT
        left_out = suspect and recall_log.draw(stored.kind, stored.id, task_id, attempt) < PROBATION_SHARE
        return Assignment.PROBATION if left_out else Assignment.SHOWN

    def _worth(self, stored: Stored) -> float:
        """Return the similarity of a lesson, reduced by its age and by a low rate of uses that helped.

        The rate is smoothed with one additional success and one additional failure.
        """
        age_s = max(0.0, (self._clock() - stored.at).total_seconds())
        rate = (stored.helped + 1) / (stored.times_used + 2)
        return stored.similarity * math.exp2(-age_s / HALF_LIFE_S) * (0.75 + 0.5 * rate)

    def _lesson(self, stored: Stored) -> Lesson:
        age_s = max(0.0, (self._clock() - stored.at).total_seconds())
        text = format_lesson(stored.about, stored.lesson, stored.fix)
        return Lesson(id=stored.id, text=text, score=round(stored.similarity, 4), age_s=age_s, source=stored.kind)

    def _conclude(self, work: AttemptState, task_id: int, solved: bool) -> None:
        at, conn = self._clock(), self._db.reader()
        failures = rows.open_failures(conn, task_id) if solved else []
        passing = shapes_of(work.change) if solved else set[str]()
        cleared = fingerprints.failures(conn, passing)
        if not (failures or work.lessons or cleared or recall_log.any_of(conn, task_id, work.attempt)):
            return
        fixes = [(id_, difference(from_patch(code), work.change, self._masker, error)) for id_, code, error in failures]
        fixes = [(id_, fix) for id_, fix in fixes if fix]  # without a fix, the change was not the cause
        shapes = {id_: list_changed_by_fix(from_patch(code), passing) for id_, code, _ in failures}
        problem, lesson = self._masker(rows.description(conn, task_id)), self._masker(lesson_of(work))

        def job(conn: Connection) -> None:
            if not rows.conclude(conn, task_id, work.attempt):
                return
            fingerprints.forget(conn, cleared)
            for id_, fix in fixes:
                rows.solve(conn, id_, fix, lesson, at)
                fingerprints.add(conn, id_, shapes[id_])
            rows.count_uses(conn, work.lessons, task_id, work.attempt, helped=solved, at=at)
            gone = self._retire(conn, work, task_id, solved)
            if fixes and problem:
                gone += rows.drop_patterns(conn, task_id)
                rows.add_pattern(conn, task_id, problem, fixes[0][1], lesson, at)
            forget_vectors(conn, gone)

        self._db.write(job).result()
        self._spaces.catch_up()

    def _retire(self, conn: Connection, work: AttemptState, task_id: int, solved: bool) -> list[Item]:
        """Record how the attempt ended, and judge the lessons that matched it; return the newly retired lessons."""
        at = self._clock()
        near = recall_log.end(conn, task_id, work.attempt, solved=solved, iterations=work.iteration, at=at)
        everyone = recall_log.withheld(conn) if near else Share()
        return [lesson for lesson in near if self._judge(conn, lesson, everyone, at) is Standing.RETIRED]

    def _judge(self, conn: Connection, lesson: Item, everyone: Share, at: datetime) -> Standing:
        """Judge a lesson by the current counts, store its standing, and retire it if necessary."""
        kind, item = lesson
        shown, without = recall_log.tallies(conn, kind, item, rows.read_judged_from(conn, kind, item))
        new_standing = standing(shown, without, everyone)
        rows.judge(conn, kind, item, new_standing)
        if new_standing is Standing.RETIRED and rows.retire(conn, kind, item, "measured", at):
            counts = (
                f"{shown.part} of {shown.whole} attempts were solved with it, {without.part} of {without.whole} without"
            )
            self._report(Kind.LESSON_RETIRED, kind, item, f"retires: {counts}")
        return new_standing

    def _judge_again(self, conn: Connection, lesson: Item, everyone: Share, at: datetime) -> Standing:
        """Judge a lesson like `_judge`, after the counts of other nodes have changed.

        A retired lesson may come into use again.
        """
        new_standing = self._judge(conn, lesson, everyone, at)
        if new_standing is not Standing.RETIRED and rows.use_again(conn, *lesson):
            self._report(Kind.LESSON_RESTORED, *lesson, "is used again, by what all nodes have counted together")
        return new_standing

    def _report(self, what: Kind, kind: LessonKind, item: int, text: str) -> None:
        self._events.emit(what, f"lesson {item} ({kind}) {text}", lesson=item, kind=kind)


def _concerns(stored: Stored, language: str, repo: str) -> bool:
    """Check whether a lesson may help a task of this language and repository.

    A lesson from another repository may help if its error is about the language or a library. An imported lesson has no
    task, and was imported to be used, so it may help any task. But if the repository that it names is on this machine,
    as happens with lessons from a hub, it may help only tasks of that repository.
    """
    if stored.repo == repo or (stored.task_id is None and not (stored.repo and Path(stored.repo).is_dir())):
        return True
    return stored.kind == "failure" and stored.language == language and is_general(stored.about)
