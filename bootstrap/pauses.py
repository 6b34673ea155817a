"""Keeps the pauses that providers asked for in the database, so that a restart does not forget them."""

from __future__ import annotations

from core.clock import Clock, from_text, to_text
from db.state_store import StateStore
from models.backend_client import Pause, StoredPause

_KEY = "model_pauses"
_MAX_WHY_CHARS = 500


class StoredPauses:
    """See `models.backend_client.PauseStore`; read when a model comes up, written when a provider asks for hours."""

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self._kept: dict[str, StoredPause] = {
            account: StoredPause(pause=Pause(since=from_text(since), until=from_text(until)), why=why)
            for account, (since, until, why) in (state.get(_KEY) or {}).items()
        }

    def read(self, account: str) -> StoredPause | None:
        """The last pause that was kept, over or not."""
        return self._kept.get(account)

    def write(self, account: str, kept: StoredPause) -> None:
        """Keep it, and forget those that are over."""
        now = self._clock()
        self._kept = {name: one for name, one in self._kept.items() if one.pause.holds(now)} | {account: kept}
        rows = {
            name: (to_text(one.pause.since), to_text(one.pause.until), one.why[:_MAX_WHY_CHARS])
            for name, one in self._kept.items()
        }
        self._state.set(_KEY, rows)
