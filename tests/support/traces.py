"""The traces that a run leaves, without times, ids and other values that differ even between two identical runs."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.daemon import git
from tests.support.supervised import SupervisedDaemon


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The traces that a run leaves.

    Attributes:
        facts: the records that must be the same in each run.
        asked: the number of requests to the model in each phase.
        paid: the number of stored costs in each phase.
        logged: the number of log lines of each kind.
        moves: the changes of tasks from one status to another.
    """

    facts: Mapping[str, Any]
    asked: Counter[str] = field(default_factory=Counter)
    paid: Counter[str] = field(default_factory=Counter)
    logged: Counter[str] = field(default_factory=Counter)
    moves: frozenset[tuple[str, str]] = frozenset()

    @property
    def ends(self) -> Mapping[str, Any]:
        """The facts that hold wherever the daemon died: each task ended once, with one commit."""
        return {
            "tasks": [[row[:2] for row in rows] for rows in self.facts["tasks"]],
            "ends": self.facts["ends"],
            "git": self.facts["git"],
            "ledger": [len(rows) for rows in self.facts["commits"]],
        }


FACTS = {
    "tasks": "SELECT status, ending, attempt, iterations, json_extract(spent, '$.model_calls'), commit_id IS NULL, "
    "branch FROM tasks WHERE id = ?",
    "steps": "SELECT attempt, step_no, iteration, phase, outcome, passed, failed, total FROM steps WHERE task_id = ? "
    "ORDER BY attempt, step_no",
    "replies": "SELECT attempt, step_no, call_no, iteration, phase, backend FROM replies WHERE task_id = ? "
    "ORDER BY attempt, step_no, call_no",
    "tools": "SELECT step_no, call_no, seq, name, brief, ok, change IS NULL FROM tool_calls WHERE task_id = ? "
    "ORDER BY attempt, step_no, call_no, seq",
    "tries": "SELECT attempt, iteration, passed, failed, total FROM iterations WHERE task_id = ? ORDER BY 1, 2",
    "failures": "SELECT attempt, signature, solved, COUNT(*) FROM failures WHERE task_id = ? GROUP BY 1, 2, 3",
    "patterns": "SELECT COUNT(*) FROM patterns WHERE task_id = ?",
    "commits": "SELECT attempt, branch, label, iterations, integrated FROM git_commits WHERE task_id = ?",
    "asks": "SELECT subject, granted FROM approvals WHERE task_id = ? ORDER BY id",
    "ends": "SELECT json_extract(data, '$.to'), json_extract(data, '$.ending'), COUNT(*) FROM execution_logs "
    "WHERE task_id = ? AND json_extract(data, '$.to') IN ('done', 'failed', 'cancelled') GROUP BY 1, 2",
}
MOVES = (
    "SELECT DISTINCT json_extract(data, '$.from'), json_extract(data, '$.to') FROM execution_logs WHERE task_id = ? "
    "AND json_extract(data, '$.from') IS NOT NULL"
)
SCORES = (
    "SELECT (SELECT TOTAL(times_used) FROM failures) + (SELECT TOTAL(times_used) FROM patterns), "
    "(SELECT TOTAL(helped) FROM failures) + (SELECT TOTAL(helped) FROM patterns)"
)


def trace(supervised: SupervisedDaemon, ids: Sequence[int], words: str, repo: Path, scores: tuple[float, ...]) -> Trace:
    """Return the traces of these tasks.

    `words` is a text that only the requests of these tasks contain. `scores` are the memory's scores before the tasks
    began.
    """
    facts: dict[str, Any] = {}
    for name, query in FACTS.items():
        facts[name] = [[generic(row) for row in supervised.rows(query, id_)] for id_ in ids]
    facts["scores"] = tuple(now - then for now, then in zip(supervised.rows(SCORES)[0], scores, strict=True))
    facts["git"] = [_git_facts(repo, id_) for id_ in ids]
    asked = Counter(request.phase for request in supervised.server.requests if words in str(request.messages))
    paid: Counter[str] = Counter()
    logged: Counter[str] = Counter()
    moves: set[tuple[str, str]] = set()
    for id_ in ids:
        paid.update(dict(supervised.rows("SELECT phase, COUNT(*) FROM model_stats WHERE task_id = ? GROUP BY 1", id_)))
        logged.update(
            dict(supervised.rows("SELECT kind, COUNT(*) FROM execution_logs WHERE task_id = ? GROUP BY 1", id_))
        )
        moves |= set(supervised.rows(MOVES, id_))
    return Trace(facts=facts, asked=asked, paid=paid, logged=logged, moves=frozenset(moves))


def generic(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row without the numbers and digests that differ from task to task."""
    return tuple(re.sub(r"\b[0-9a-f]{12,}\b|\d+", "N", value) if isinstance(value, str) else value for value in row)


def _git_facts(repo: Path, task_id: int) -> dict[str, Any]:
    """Return, for each branch, the number of the task's commits and whether all of them have evidence."""
    facts: dict[str, Any] = {}
    if not (repo / ".git").exists():
        return facts
    for ref in git(repo, "for-each-ref", "--format=%(refname)", "refs/heads").splitlines():
        if ref.startswith("refs/heads/agent/") and not ref.startswith(f"refs/heads/agent/{task_id}-"):
            continue
        log = git(repo, "log", "--format=%H %(trailers:key=Task,valueonly,separator=)", ref).splitlines()
        mine = [line.split()[0] for line in log if line.split()[1:] == [str(task_id)]]
        if mine:
            noted = [bool(_note(repo, commit)) for commit in mine]
            facts[re.sub(r"\d+", "N", ref)] = (len(mine), all(noted))
    return facts


def _note(repo: Path, commit: str) -> str:
    command = ["git", "-C", str(repo), "notes", "--ref=nightshift", "show", commit]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
