"""The built-in engine's way into the sandbox, which is found after the models are made.

The chain is made before anything is known of a sandbox, so the engine is handed these in place of the real ports. They
pass on once `LateTrials.open` has been called, and until then say why they cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import SandboxError
from core.ports import Synthesiser, Trials
from core.trials import (
    Answered,
    Call,
    Candidate,
    Outcome,
    Patience,
    Sight,
    Synthesised,
    SynthesisJob,
    TrialJob,
)

NOT_YET = "the sandbox is being tested"


class LateTrials:
    """Both ports of the engine (`Trials`, `Synthesiser`), open once there is a sandbox.

    Attributes:
        missing: why nothing can be run, in words for the owner; empty once it is open.
    """

    def __init__(self) -> None:
        self._trials: Trials | None = None
        self._synthesiser: Synthesiser | None = None
        self.missing = NOT_YET

    def open(self, trials: Trials, synthesiser: Synthesiser | None = None) -> None:
        """From now on pass everything on; without a synthesiser no function is found from examples."""
        self._trials, self._synthesiser, self.missing = trials, synthesiser, ""

    def give_up(self, why: str) -> None:
        """There will be no sandbox."""
        self.missing = why

    def why_missing(self) -> str:
        """Why nothing can be run; empty when it can. May be called from any thread."""
        return self.missing

    async def observe(self, job: TrialJob) -> Sight:
        """See `core.ports.Trials.observe`."""
        return await self._opened().observe(job)

    async def attempt(
        self, job: TrialJob, candidates: Sequence[Candidate], order: Sequence[str], patience: Patience
    ) -> Sequence[Outcome]:
        """See `core.ports.Trials.attempt`."""
        return await self._opened().attempt(job, candidates, order, patience)

    async def probe(
        self, job: TrialJob, variants: Sequence[Candidate], calls: Sequence[Call], patience: Patience
    ) -> Sequence[Sequence[Answered]]:
        """See `core.ports.Trials.probe`."""
        return await self._opened().probe(job, variants, calls, patience)

    async def synthesise(self, job: SynthesisJob) -> Synthesised:
        """See `core.ports.Synthesiser.synthesise`."""
        self._opened()
        if self._synthesiser is None:
            return Synthesised(why="functions are not found from examples here")
        return await self._synthesiser.synthesise(job)

    def _opened(self) -> Trials:
        if self._trials is None:
            raise SandboxError(self.missing)
        return self._trials
