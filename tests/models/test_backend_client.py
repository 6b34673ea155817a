"""The health probe of one backend."""

from __future__ import annotations

import asyncio
import threading

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Event, Kind
from nightshift.core.text.masking import Masker
from nightshift.models.backend_client import HealthProbe
from nightshift.models.base import BaseModelHandler, OnText


class Switch(BaseModelHandler):
    """A backend whose availability the test controls."""

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
    health = HealthProbe(switch, events.append, Masker(), utc_now)
    assert sorted(await asyncio.gather(*(health.check() for _ in range(5)))) == [False] * 4 + [True]
    assert switch.looks == 1
    switch.here = False
    assert not await health.check(fresh_s=60)
    assert health.available, "what was seen a moment ago is good enough here"
    assert not await health.check()
    assert not health.available
    await health.check()
    assert [event.kind for event in events] == [Kind.MODEL_UP, Kind.MODEL_DOWN]


async def test_a_look_that_hangs_is_a_no_and_starts_no_second_thread() -> None:
    switch = Switch()
    health = HealthProbe(switch, lambda _event: None, Masker(), utc_now, wait_s=0.03)
    switch.go.clear()
    for _ in range(3):
        assert not await health.check()
    assert switch.looks == 1
    assert "did not answer" in health.why
    switch.go.set()
    assert await health.check()
    assert health.why == ""
