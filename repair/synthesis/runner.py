"""Runs the search for a function in a sandbox: one message in, one signed answer out, as a suite is run."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import replace
from typing import Any

from core import literals
from core.trials import Synthesised, SynthesisJob, TrialJob
from repair.synthesis import reading, stub
from repair.synthesis.recordable import recordable
from repair.synthesis.stub import Stub
from repair.trials import staging
from sandbox.inside import values
from sandbox.packing import encoded
from verdict import answer
from verdict.plan import Plan
from verdict.suite_runs import Rounds

TESTS_S = 8.0
"""How long the tests may take with the recorder; what was learned by then is used."""
CONSTANTS = 14
_INSTALL = "__import__('nightshift_inside.synthesis.recorder', fromlist=['install']).install(globals(), {name!r})"


class SynthesisRunner:
    """The port `core.ports.Synthesiser`.

    Args:
        rounds: runs plans in a sandbox; may be shared.
    """

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    async def synthesise(self, job: SynthesisJob) -> Synthesised:
        """Search for bodies that agree with every example that the tests and the docstring hold.

        Raises:
            SandboxError: nothing could be run, or the tests are none of pytest's.
        """
        text = _text(job.job, job.path)
        if text is None:
            return Synthesised(why=f"there is no file {job.path}")
        found = stub.read(text, job.scope)
        if isinstance(found, str):
            return Synthesised(why=found)
        stage = await staging.stage(job.job, self._rounds)
        task = _task(job, found)
        planned = _recording(replace(stage.plan, trial=task), job.path, text, found.name)
        suite = replace(stage.job, wall_s=job.budget_s + TESTS_S)
        ready, result = await self._rounds.executed(suite, planned)
        heard = reading.read(answer.read_trial(result, ready.key))
        return reading.told(heard, lambda body: written(found, body), job.budget_s)


def written(found: Stub, body: str) -> str:
    """The text of the whole function with these statements as its body."""
    return f"{found.head}\n{textwrap.indent(body, found.indent)}\n"


def _text(job: TrialJob, path: str) -> str | None:
    """A file's text with the change."""
    for files in (job.change, job.start):
        if path in files:
            return files[path]
    return job.base.read(path).decode("utf-8", "replace") if path in job.base.entries() else None


def _recording(plan: Plan, path: str, text: str, name: str) -> Plan:
    """The plan with the recorder in the place of the function, and with tests that it can follow."""
    files = tuple(replace(file, text=recordable(file.text)) for file in plan.files)
    staged = {file.staged: encoded(file.text) for file in files}
    texts = {**plan.texts, path: encoded(f"{text}\n{_INSTALL.format(name=name)}\n")}
    return replace(
        plan, files=files, mounted={name: staged[name] for name in plan.mounted if name in staged},
        texts={name: staged.get(name, raw) for name, raw in texts.items()},
    )  # fmt: skip


def _task(job: SynthesisJob, found: Stub) -> dict[str, Any]:
    """What is told to those inside."""
    told = [text for text in job.constants if text not in found.constants and _plain(text)]
    constants = [(text, 1) for text in found.constants] + [(text, 2) for text in told]
    words = found.words | {word.lower() for name in job.names for word in name.split("_")}
    return {
        "kind": "synthesis",
        "parameters": found.parameters,
        "examples": [_packed(arguments, wanted) for arguments, wanted in found.examples],
        "constants": constants[:CONSTANTS],
        "words": sorted(words)[:200],
        "numbers": found.numbers,
        "budget_s": job.budget_s,
        "tests_s": min(TESTS_S, job.job.wall_s, job.budget_s / 2 + 1),
        "processes": 2 if job.job.cpus >= 2 and job.job.pids >= 4 else 1,
    }


def _packed(arguments: tuple[object, ...], wanted: object) -> str:
    """An example as the recorder would tell it."""
    return json.dumps([values.pack(list(arguments)), "gives", values.pack(wanted), None])


def _plain(text: str) -> bool:
    """Tell whether a constant is a number or a text."""
    try:
        value = literals.read(text)
    except ValueError:
        return False
    small = (type(value) in (int, float) and math.isfinite(value)) or (type(value) is str and len(value) <= 40)
    return bool(small)
