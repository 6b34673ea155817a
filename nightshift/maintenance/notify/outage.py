"""Notices that no model has answered for a long time: then every task waits, and the owner may want to know.

Single backends come and go, which is only logged. The built-in engine does not count as a model: it is always
available.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from nightshift.core.built_in import BUILT_IN
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.status import ModelStatus
from nightshift.core.text.formats import coarse

LONG_S = 900.0


class Outage:
    """Checks the backends periodically; reports an outage once.

    Args:
        models: returns the state of the backends.
        emit: gets the event.
        monotonic: seconds that never jump.
    """

    def __init__(
        self,
        models: Callable[[], Sequence[ModelStatus]],
        emit: Sink,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models, self._events, self._monotonic = models, Emitter(emit), monotonic
        self._since: float | None = None
        self._reported = False

    async def look(self) -> None:
        """Check the backends once."""
        real = [model for model in self._models() if model.name != BUILT_IN]
        if not real or any(model.available and model.circuit != "open" for model in real):
            self._since, self._reported = None, False
            return
        now = self._monotonic()
        self._since = now if self._since is None else self._since
        if not self._reported and now - self._since >= LONG_S:
            self._reported = True
            names = ", ".join(sorted({model.name for model in real}))
            text = f"no model has answered for {coarse(now - self._since)} ({names}); tasks wait for one"
            self._events.emit(Kind.MODEL_DOWN, text, level=Level.ERROR, all=True)
