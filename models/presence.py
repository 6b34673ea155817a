"""Whether a backend is there: looked up in a thread, at most one look at a time, and told when it changes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from core.events import Event, Kind, Level
from core.ports import Sink
from models.base import BaseModelHandler


class Presence:
    """What is known of a backend's being there; `available` is False until somebody has looked."""

    def __init__(
        self, backend: BaseModelHandler, emit: Sink, masker: Callable[[str], str], patience_s: float = 10.0
    ) -> None:
        self._backend, self._emit, self._masker, self._patience_s = backend, emit, masker, patience_s
        self._known: bool | None = None
        self._broken = ""
        self._looked_at_s = -math.inf
        self._looking = asyncio.Lock()
        self._asked: asyncio.Task[tuple[bool, str]] | None = None

    @property
    def available(self) -> bool:
        """The answer of the last look."""
        return bool(self._known)

    @property
    def label(self) -> str:
        """`backend=model`, or the backend alone while its model is not known."""
        return f"{self._backend.name}={self._backend.model}" if self._backend.model else self._backend.name

    @property
    def why(self) -> str:
        """Why it is not there, in words for the owner."""
        return self._broken or self._backend.detail

    async def look(self, fresh_s: float = 0.0) -> bool:
        """Look, unless somebody did within `fresh_s` or while this waited for its turn.

        Returns:
            Whether the backend has just come up; an event tells each change.
        """
        loop = asyncio.get_running_loop()
        since_s = loop.time() - fresh_s
        async with self._looking:
            if self._looked_at_s > since_s:
                return False
            found = await self._found()
            self._looked_at_s = loop.time()
            changed, self._known = found != self._known, found
        if changed:
            self._tell(found)
        return changed and found

    async def _found(self) -> bool:
        """The backend's answer; one that does not come is a no, and is not asked for again before it came."""
        self._asked = self._asked or asyncio.create_task(asyncio.to_thread(self._is_available))
        await asyncio.wait({self._asked}, timeout=self._patience_s)
        if not self._asked.done():
            self._broken = f"{self._backend.name} does not say whether it is available"
            return False
        asked, self._asked = self._asked, None
        found, self._broken = asked.result()
        return found

    def _is_available(self) -> tuple[bool, str]:
        try:
            return self._backend.is_available(), ""
        except Exception as error:  # noqa: BLE001 - a backend that breaks its promise not to raise is not there
            name, kind = self._backend.name, type(error).__name__
            return False, f"{name} cannot tell whether it is available: {kind}: {error}"

    def _tell(self, found: bool) -> None:
        kind, level = (Kind.MODEL_UP, Level.INFO) if found else (Kind.MODEL_DOWN, Level.WARNING)
        text = f"{self.label} is available" if found else f"{self.label} is not available: {self.why}"
        data = {"backend": self._backend.name, "model": self._backend.model}
        self._emit(Event(kind=kind, level=level, message=self._masker(text), data=data))
