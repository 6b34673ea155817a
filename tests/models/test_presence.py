"""Whether a backend is there: one look at a time, and no look that hangs holds up the rest."""

from __future__ import annotations

import asyncio
import threading

from core.dialogue import Completion, ModelRequest
from core.events import Event, Kind
from core.masking import Masker
from models.base import BaseModelHandler, OnText
from models.presence import Presence


class Switch(BaseModelHandler):
    """A backend whose being there the test decides."""

    name = "switch"

    def __init__(self) -> None:
        super().__init__(model="m")
        self.here, self.looks = True, 0
        self.go = threading.Event()
        self.go.set()

    def is_available(self) -> bool:
        self.looks += 1
        self.go.wait(5)
        return self.here

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        return Completion(text="", backend=self.name, model=self.model)


async def test_changes_are_told_once_and_looks_are_shared() -> None:
    switch, events = Switch(), list[Event]()
    presence = Presence(switch, events.append, Masker())
    assert sorted(await asyncio.gather(*(presence.look() for _ in range(5)))) == [False] * 4 + [True]
    assert switch.looks == 1
    switch.here = False
    assert not await presence.look(fresh_s=60)
    assert presence.available, "what was seen a moment ago is good enough here"
    assert not await presence.look()
    assert not presence.available
    await presence.look()
    assert [event.kind for event in events] == [Kind.MODEL_UP, Kind.MODEL_DOWN]


async def test_a_look_that_hangs_is_a_no_and_starts_no_second_thread() -> None:
    switch = Switch()
    presence = Presence(switch, lambda _event: None, Masker(), patience_s=0.03)
    switch.go.clear()
    for _ in range(3):
        assert not await presence.look()
    assert switch.looks == 1
    assert "does not say" in presence.why
    switch.go.set()
    assert await presence.look()
    assert presence.why == ""
