"""One backend's circuit breaker, health probe, and detection of requests that always fail."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import CircuitState
from nightshift.core.text.masking import Masker
from nightshift.models.backend_client import (
    PAID_FAILURE_WEIGHT,
    POISON_FAILURES,
    CircuitBreaker,
    HealthProbe,
    PoisonRequestDetector,
)
from nightshift.models.base import BaseModelHandler, OnText
from tests.support import tiers


class ManualClock:
    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def pass_s(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def circuit(clock: ManualClock) -> CircuitBreaker:
    return CircuitBreaker(clock, failures=3, pause_s=10, pause_max_s=35)


def fail(one: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert one.enter()
        one.failed()


def test_it_opens_after_failures_in_a_row_only() -> None:
    one = circuit(ManualClock())
    fail(one, 2)
    one.succeeded()
    fail(one, 2)
    assert one.state == "closed"
    fail(one, 1)
    assert one.state == "open"
    assert not one.enter()


def test_the_pause_doubles_up_to_its_limit_and_success_forgives_all() -> None:
    clock = ManualClock()
    one = circuit(clock)
    fail(one, 3)
    for pause_s in (10, 20, 35, 35):
        clock.pass_s(pause_s - 0.1)
        assert one.state == "open"
        clock.pass_s(0.2)
        assert one.state == "half_open"
        fail(one, 1)
    clock.pass_s(36)
    assert one.enter()
    one.succeeded()
    assert one.state == "closed"
    fail(one, 3)
    clock.pass_s(10.1)
    assert one.state == "half_open"


def test_half_open_lets_one_through_and_one_that_leaves_makes_room() -> None:
    clock = ManualClock()
    one = circuit(clock)
    fail(one, 3)
    clock.pass_s(11)
    assert one.enter()
    assert not one.enter()
    one.left()
    assert one.enter()


def test_a_wait_that_was_asked_for_is_not_shortened() -> None:
    clock = ManualClock()
    one = circuit(clock)
    one.open_for(3600)
    one.open_for(5)
    clock.pass_s(3599)
    assert one.state is CircuitState.OPEN


def test_what_its_provider_asked_for_outlives_coming_back_and_the_success_of_another_call() -> None:
    clock = ManualClock()
    one = circuit(clock)
    fail(one, 3)
    one.open_for(3600, asked=True)
    one.came_up()
    assert one.state == "open"
    one.succeeded()
    assert one.state == "open"
    clock.pass_s(3600)
    assert one.state == "half_open"
    assert one.enter()
    one.succeeded()
    assert one.state == "closed"


def test_a_pause_is_taken_over_from_an_earlier_process_while_it_lasts() -> None:
    clock = ManualClock()
    first, second, third = circuit(clock), circuit(clock), circuit(clock)
    first.open_for(600, asked=True)
    assert first.asked
    clock.pass_s(599)
    second.restore(first.asked)
    assert second.state == "open"
    clock.pass_s(1)
    third.restore(first.asked)
    assert third.state == "closed"


def test_a_pause_under_a_clock_that_was_set_back_does_not_hold() -> None:
    clock = ManualClock()
    one = circuit(clock)
    clock.pass_s(10**7)
    one.open_for(600, asked=True)
    fail(circuit(clock), 3)
    clock.pass_s(-(10**7))
    assert one.state == "half_open"
    one.open_for(60)
    assert one.opens_at is not None
    clock.pass_s(61)
    assert one.enter()


class Machine(RuleBasedStateMachine):
    """At most one caller is inside while half open, and an open circuit always becomes half open in bounded time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.circuit = circuit(self.clock)
        self.inside = 0

    @rule(how=st.sampled_from(["succeeded", "failed", "left"]))
    def call(self, how: str) -> None:
        state = self.circuit.state
        entered = self.circuit.enter()
        assert entered == (state is not CircuitState.OPEN)
        if entered and state is CircuitState.HALF_OPEN:
            assert not self.circuit.enter()
        if entered:
            getattr(self.circuit, how)()

    @rule(seconds=st.floats(0, 50))
    def wait(self, seconds: float) -> None:
        self.clock.pass_s(seconds)

    @invariant()
    def it_never_stays_open_longer_than_the_longest_pause(self) -> None:
        if self.circuit.opens_at:
            assert self.circuit.opens_at <= self.clock() + timedelta(seconds=35)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=tiers.examples(50), stateful_step_count=tiers.steps(30), deadline=None)


def test_failures_between_which_others_were_answered_end_it() -> None:
    detector = PoisonRequestDetector()
    answers_given = [detector.failed(7, answers, paid=False) for answers in range(POISON_FAILURES)]
    assert answers_given == [False] * (POISON_FAILURES - 1) + [True]


def test_what_was_paid_for_ends_it_sooner() -> None:
    detector = PoisonRequestDetector()
    answers_given = [
        detector.failed(7, answers, paid=True) for answers in range(POISON_FAILURES // PAID_FAILURE_WEIGHT)
    ]
    assert answers_given == [False] * (POISON_FAILURES // PAID_FAILURE_WEIGHT - 1) + [True]


def test_a_reply_forgives_and_tasks_do_not_count_for_each_other() -> None:
    detector = PoisonRequestDetector()
    for answers in range(POISON_FAILURES - 1):
        assert not detector.failed(7, answers, paid=False)
        assert not detector.failed(8, answers, paid=False)
    detector.answered(7)
    detector.answered(None)
    assert not detector.failed(7, 100, paid=True)
    assert detector.failed(8, 100, paid=False)


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=300))
def test_an_outage_of_any_length_ends_nothing(failures: list[tuple[int, bool]]) -> None:
    detector = PoisonRequestDetector()
    assert not any(detector.failed(task_id, 12, paid=paid) for task_id, paid in failures)


def test_a_request_outside_a_task_never_counts_and_little_is_remembered() -> None:
    detector = PoisonRequestDetector()
    assert not any(detector.failed(None, answers, paid=True) for answers in range(200))
    for task_id in range(3000):
        detector.failed(task_id, task_id, paid=True)
    assert len(detector._counts) <= 1000


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
    assert "does not say" in health.why
    switch.go.set()
    assert await health.check()
    assert health.why == ""
