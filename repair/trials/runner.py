"""Runs trials in a sandbox, each run with one message in and one signed answer out, as a suite is run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.trials import Answered, Call, Candidate, Outcome, Patience, Sight, TrialJob
from repair.trials import looking, reading, staging
from repair.trials.batch import Batch, Heard
from repair.trials.staging import Stage
from verdict import answer
from verdict.answer import Trial
from verdict.suite_runs import Rounds

RECENT = 4
BUDGET_S = 15.0
"""After so long a run begins no more candidates; the rest goes to the next one."""
SPARE_S = 15.0
"""What the last tests of a look, or calls of a probe, may take beyond their time."""


class TrialRunner:
    """The port `core.ports.Trials`.

    Args:
        rounds: runs plans in a sandbox; may be shared.
    """

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._stages: deque[tuple[TrialJob, Stage]] = deque(maxlen=RECENT)

    async def observe(self, job: TrialJob) -> Sight:
        """Run the suite once as it is, each test on its own, and tell what it did.

        Raises:
            SandboxError: nothing could be run, or the tests are none of pytest's.
        """
        stage = await self._stage(job)
        told = {"kind": "observe", "count": _count(job), "budget_s": job.wall_s}
        return looking.sight(await self._run(stage, told, job.wall_s + SPARE_S), stage.plan, stage.names)

    async def attempt(
        self, job: TrialJob, candidates: Sequence[Candidate], order: Sequence[str], patience: Patience
    ) -> Sequence[Outcome]:
        """Try each candidate by the tests with these ids, in this order, up to the first that does not pass.

        Raises:
            SandboxError: nothing could be run, or the tests are none of pytest's.
        """
        stage = await self._stage(job)
        told = {
            "kind": "attempt", "order": [stage.staged_id(test) for test in order], "plain": patience.plain,
            "wall_s": patience.wall_s, "steps": patience.steps, "budget_s": BUDGET_S, "whole_s": job.wall_s,
            "misses": patience.misses,
        }  # fmt: skip

        async def run(numbers: Sequence[int], alone: bool) -> Heard:
            texts = [(candidates[n].path, candidates[n].scope, candidates[n].text) for n in numbers]
            trial = {**told, "candidates": texts, "count": 1 if alone else _count(job)}
            return _heard(await self._run(stage, trial, BUDGET_S + job.wall_s), numbers, stage)

        return await Batch(len(candidates), run).outcomes()

    async def probe(
        self, job: TrialJob, variants: Sequence[Candidate], calls: Sequence[Call], patience: Patience
    ) -> Sequence[Sequence[Answered]]:
        """Make the calls with each variant: for each variant an answer for each call.

        Raises:
            SandboxError: nothing could be run.
        """
        if not variants or not calls:
            return [[] for _ in variants]
        stage = await self._stage(job)
        told = {
            "kind": "probe", "variants": [(each.path, each.scope, each.text) for each in variants],
            "calls": [(call.path, call.scope, call.args, call.kwargs) for call in calls], "count": _count(job),
            "wall_s": patience.wall_s, "steps": patience.steps, "budget_s": job.wall_s,
        }  # fmt: skip
        trial = await self._run(stage, told, job.wall_s * len(variants) + SPARE_S)
        return reading.answers(list(reading.rows(trial)), len(variants), len(calls))

    async def _stage(self, job: TrialJob) -> Stage:
        for known, stage in self._stages:
            if known is job:
                return stage
        made = await staging.stage(job, self._rounds)
        self._stages.append((job, made))
        return made

    async def _run(self, stage: Stage, trial: Mapping[str, object], wall_s: float) -> Trial | None:
        job = replace(stage.job, wall_s=wall_s)
        ready, result = await self._rounds.executed(job, stage.telling(trial))
        return answer.read_trial(result, ready.key)


def _count(job: TrialJob) -> int:
    """How many forks may run at the same time."""
    return max(1, math.floor(job.cpus))


def _heard(trial: Trial | None, numbers: Sequence[int], stage: Stage) -> Heard:
    begun, outcomes = set[int](), dict[int, Outcome]()
    for row in reading.rows(trial):
        if row[0] == "begun" and len(row) > 1 and type(row[1]) is int and 0 <= row[1] < len(numbers):
            begun.add(numbers[row[1]])
        elif (found := reading.outcome(row, stage.names)) and 0 <= found[0] < len(numbers):
            outcomes.setdefault(numbers[found[0]], found[1])
    ended = trial is not None and trial.how == "exited" and trial.exit_code == 0
    return Heard(outcomes=outcomes, begun=frozenset(begun), ended=ended)
