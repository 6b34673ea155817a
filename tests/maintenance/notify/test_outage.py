"""A long outage of all models causes a single notice."""

from __future__ import annotations

from nightshift.core.built_in import BUILT_IN
from nightshift.core.events import Event, Kind, Level
from nightshift.core.status import ModelStatus
from nightshift.core.tasks.states import CircuitState
from nightshift.maintenance.notify.outage import LONG_S, Outage


class Bench:
    def __init__(self) -> None:
        self.now, self.up, self.events = 0.0, True, list[Event]()
        self.outage = Outage(self.models, self.events.append, monotonic=lambda: self.now)

    def models(self) -> list[ModelStatus]:
        circuit = CircuitState.CLOSED if self.up else CircuitState.OPEN
        return [
            ModelStatus(name=BUILT_IN, model="", available=True),
            ModelStatus(name="ollama", model="small", available=self.up),
            ModelStatus(name="openai", model="big", available=True, circuit=circuit),
        ]

    async def look_after(self, seconds: float) -> None:
        self.now += seconds
        await self.outage.look()


async def test_it_is_told_once_when_it_has_lasted_and_again_for_the_next() -> None:
    bench = Bench()
    await bench.look_after(0)
    for outage in (1, 2):
        bench.up = False
        await bench.look_after(60)
        await bench.look_after(LONG_S - 1)
        assert len(bench.events) == outage - 1
        await bench.look_after(2)
        await bench.look_after(LONG_S)
        assert len(bench.events) == outage
        bench.up = True
        await bench.look_after(60)
    assert (bench.events[0].kind, bench.events[0].level) == (Kind.MODEL_DOWN, Level.ERROR)
    assert "15 min (ollama, openai)" in bench.events[0].message
