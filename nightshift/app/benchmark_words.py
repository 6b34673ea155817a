"""Asks a model for the words of an item, within the owner's budgets, for the process that mines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nightshift.app.benchmark_run import owners_limits
from nightshift.app.models import chain_of, nothing_runs, prices_of
from nightshift.config.load import Settings, settings_at
from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock, utc_now
from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import BenchmarkError, ModelError
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Spent
from nightshift.core.text.masking import Masker
from nightshift.models.base import BaseModelHandler
from nightshift.models.budgets import price_of
from nightshift.models.token_estimates import fill_counts
from nightshift.report.benchmark.arms import backend_and_model
from nightshift.report.benchmark.store import BenchmarkStore

WALL_S = 120.0


class ModelWriter:
    """See `report.benchmark.wording.Writer`. What it spends is noted with what the benchmark spends.

    Args:
        settings: the owner's: keys, addresses, prices and budgets.
        store: of the benchmark.
        repo: whose items.
        model: as `backend=model`.
        clock: the time.
        tell: is told where a reply cannot be had.

    Raises:
        BenchmarkError: there is no such model.
        ConfigError: it is not configured.
    """

    def __init__(
        self,
        settings: Settings,
        store: BenchmarkStore,
        repo: str,
        model: str,
        *,
        clock: Clock = utc_now,
        tell: Callable[[str], None],
    ) -> None:
        self._store, self._run, self._clock, self._tell = store, f"words of {repo}", clock, tell
        self.name, self._mask, self._limits = model, Masker(settings.secrets), owners_limits(settings, store, clock)
        backend, name = backend_and_model(model, "--model")
        if backend == BUILT_IN:
            raise BenchmarkError(f"--model: {model}: the built-in engine writes no words; name another backend=model")
        chain = chain_of(settings_at(settings, {"model_type": backend, "model_name": model}), nothing_runs)
        self._backend: BaseModelHandler = next(one for one in chain if one.name == backend)
        self._price = price_of(prices_of(settings), backend, name, free=self._backend.free)

    async def __call__(self, prompt: str) -> str:
        """The reply; empty where none came.

        Raises:
            BenchmarkError: the owner's budget is spent.
        """
        left_usd = self._limits.left_usd
        if left_usd is not None and left_usd <= 0:
            raise BenchmarkError("the budget is spent; the same command goes on")
        request = ModelRequest(phase=Phase.PLANNING, messages=(Message(role="user", text=self._mask(prompt)),))
        try:
            async with asyncio.timeout(WALL_S):
                reply = fill_counts(request, await self._backend.generate(request))
        except (ModelError, TimeoutError) as error:
            self._tell(self._mask(f"{self.name} wrote no words: {error or 'time is over'}"))
            return ""
        now = self._clock()
        before_usd, before_tokens = self._store.spent(self._run, now.date())
        cost_usd = before_usd + (self._price.of(reply) if self._price else 0.0)
        spent = Spent(cost_usd=cost_usd, tokens_in=before_tokens + reply.tokens_in + reply.tokens_out)
        await asyncio.to_thread(self._store.note_spent, self._run, self.name, {f"{now:%Y-%m-%d}": spent})
        return reply.text

    async def aclose(self) -> None:
        """Close the connection."""
        await self._backend.aclose()
