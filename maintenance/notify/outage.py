"""Notices when no model at all has answered for long: then every task waits, and its owner may want to know.

Single backends come and go, and the log tells of each. The built-in engine is no model here: it is always there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from core.dialogue import BUILT_IN
from core.events import Event, Kind, Level
from core.ports import Sink
from core.status import ModelStatus

LONG_S = 900.0


class Outage:
    """Looks at the backends now and then; tells of an outage once.

    Args:
        models: what they are doing.
        emit: takes the event.
        monotonic: seconds that never jump.
    """

    def __init__(
        self,
        models: Callable[[], Sequence[ModelStatus]],
        emit: Sink,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models, self._emit, self._monotonic = models, emit, monotonic
        self._since: float | None = None
        self._told = False

    async def look(self) -> None:
        """Look once."""
        real = [model for model in self._models() if model.name != BUILT_IN]
        if not real or any(model.available and model.circuit != "open" for model in real):
            self._since, self._told = None, False
            return
        now = self._monotonic()
        self._since = now if self._since is None else self._since
        if not self._told and now - self._since >= LONG_S:
            self._told = True
            names = ", ".join(sorted({model.name for model in real}))
            text = f"no model has answered for {(now - self._since) / 60:.0f} minutes ({names}); tasks wait for one"
            self._emit(Event(kind=Kind.MODEL_DOWN, level=Level.ERROR, message=text, data={"all": True}))
