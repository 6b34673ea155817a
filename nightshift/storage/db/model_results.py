"""Results of each model's attempts, by kind of task, and the order of models for an attempt (its route).

An attempt counts for the model that began it, and only if the same model also wrote the code that was committed. This
way a model that is called only after others have failed does not get a lower rating. Only endings that depend on the
model count; a cancelled task or a daemon that died does not. If a task was tried more than once, only the last attempt
counts, because the endings of earlier attempts are not stored. A commit that the owner reverted does not count as
solved.
"""

from __future__ import annotations

import json
from concurrent.futures import Future

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.routing import ModelResult, Results, Route
from nightshift.core.tasks.states import Ending, Phase
from nightshift.storage.db.codec import read_row, storable
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection

CONCLUSIVE = (Ending.COMMITTED, Ending.GAVE_UP, Ending.STUCK, Ending.TIMEOUT, Ending.BUDGET)
"""Endings that depend on the model."""
LATEST = 1000
"""Number of newest tasks that are examined, of any kind. Limited so that the time of a query does not grow."""
OF_A_KIND = 100
"""Number of newest attempts of each kind that count. Older failures may no longer apply to a model."""

_RESULTS = """
WITH ended AS MATERIALIZED (
    SELECT id, attempt, ended_at, ending = :committed AND NOT EXISTS (
        SELECT 1 FROM git_commits WHERE git_commits.task_id = tasks.id
        AND git_commits.commit_id = tasks.commit_id AND reverted_by IS NOT NULL) AS committed
    FROM tasks WHERE ended_at IS NOT NULL AND ending IN (SELECT value FROM json_each(:telling))
    ORDER BY ended_at DESC, id DESC LIMIT :latest),
calls AS MATERIALIZED (
    SELECT stats.*, stats.backend || '=' || stats.model AS label, ended.committed, ended.ended_at
    FROM ended CROSS JOIN model_stats AS stats ON stats.task_id = ended.id AND stats.attempt = ended.attempt
    WHERE stats.phase = :coding AND stats.kind <> ''),
attempts AS MATERIALIZED (
    SELECT task_id, kind, committed, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY ended_at DESC, task_id DESC) AS age,
        MIN(CASE WHEN backend <> :engine AND NOT lost THEN id END) AS first_id,
        MAX(CASE WHEN NOT lost THEN id END) AS last_id
    FROM calls GROUP BY task_id),
shares AS (
    SELECT task_id, label, COUNT(DISTINCT iteration) AS tries, SUM(tokens_in) AS tokens_in,
        SUM(tokens_out) AS tokens_out, TOTAL(cost_usd) AS cost_usd, SUM(cost_usd IS NULL) AS unpriced,
        SUM(latency_s) AS seconds
    FROM calls WHERE backend <> :engine GROUP BY task_id, label),
roles AS (
    SELECT shares.*, attempts.kind, shares.label = first.label AS began,
        attempts.committed AND shares.label = last.label AS wrote_it
    FROM shares JOIN attempts USING (task_id)
    JOIN calls AS first ON first.id = attempts.first_id JOIN calls AS last ON last.id = attempts.last_id
    WHERE attempts.age <= :of_a_kind)
SELECT kind, label, SUM(began) AS began, SUM(began AND wrote_it) AS solved, SUM(NOT began) AS called,
    SUM(NOT began AND wrote_it) AS rescued, SUM(began * tries) AS tries, SUM(began * tokens_in) AS tokens_in,
    SUM(began * tokens_out) AS tokens_out, TOTAL(began * cost_usd) AS cost_usd, SUM(began * unpriced) AS unpriced,
    TOTAL(began * seconds) AS seconds
FROM roles GROUP BY kind, label ORDER BY kind, label
"""


class ModelResults:
    """Reads results of models, and reads and stores routes; thread-safe.

    Args:
        db: the database.
        clock: returns the time at which a route is decided.
    """

    def __init__(self, db: Database, *, clock: Clock = utc_now) -> None:
        self._db, self._clock = db, clock

    def results(self) -> Results:
        """Read the results of each model, by kind of task. Blocks for some milliseconds."""
        names = {"committed": Ending.COMMITTED, "telling": json.dumps(CONCLUSIVE), "coding": Phase.CODING}
        bounds = {"engine": BUILT_IN, "latest": LATEST, "of_a_kind": OF_A_KIND}
        by_kind: dict[str, dict[str, ModelResult]] = {}
        for row in self._db.reader().execute(_RESULTS, {**names, **bounds}):
            values = dict(row)
            kind, label = values.pop("kind"), values.pop("label")
            by_kind.setdefault(kind, {})[label] = ModelResult(**values)
        return by_kind

    def route(self, task_id: int, attempt: int) -> Route | None:
        """Read the route that was decided for an attempt; None if there is none."""
        query = "SELECT kind, ladder, first, cheap, explored, why FROM model_routes WHERE task_id = ? AND attempt = ?"
        row = self._db.reader().execute(query, (task_id, attempt)).fetchone()
        return row and read_row(Route, row, ladder=tuple(json.loads(row["ladder"])))

    def keep(self, task_id: int, attempt: int, route: Route) -> Future[None]:
        """Store the route that was decided for an attempt. An existing route is not changed."""
        at = to_text(self._clock())

        def job(conn: Connection) -> None:
            conn.execute(
                "INSERT INTO model_routes (task_id, attempt, at, kind, ladder, first, cheap, explored, why) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    *(task_id, attempt, at, route.kind, storable(json.dumps(route.ladder))),
                    *(storable(route.first), storable(route.cheap), route.explored, storable(route.why)),
                ),
            )

        return self._db.write_retrying(job)
