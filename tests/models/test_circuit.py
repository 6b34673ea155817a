"""The circuit breaker of a backend: when it opens and for how long, and the pauses that a provider requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nightshift.core.tasks.states import CircuitState
from nightshift.models.circuit import CircuitBreaker
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


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert breaker.enter()
        breaker.fail()


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = circuit(ManualClock())
    fail(breaker, 2)
    breaker.succeed()
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert not breaker.enter()


def test_the_pause_doubles_up_to_its_limit_and_success_forgives_all() -> None:
    clock = ManualClock()
    breaker = circuit(clock)
    fail(breaker, 3)
    for pause_s in (10, 20, 35, 35):
        clock.pass_s(pause_s - 0.1)
        assert breaker.state == "open"
        clock.pass_s(0.2)
        assert breaker.state == "half_open"
        fail(breaker, 1)
    clock.pass_s(36)
    assert breaker.enter()
    breaker.succeed()
    assert breaker.state == "closed"
    fail(breaker, 3)
    clock.pass_s(10.1)
    assert breaker.state == "half_open"


def test_what_its_provider_asked_for_outlives_coming_back_and_the_success_of_another_call() -> None:
    clock = ManualClock()
    breaker = circuit(clock)
    fail(breaker, 3)
    breaker.open_as_asked(3600)
    breaker.come_up()
    assert breaker.state == "open"
    breaker.succeed()
    assert breaker.state == "open"
    clock.pass_s(3600)
    assert breaker.state == "half_open"
    assert breaker.enter()
    breaker.succeed()
    assert breaker.state == "closed"


def test_a_pause_is_taken_over_from_an_earlier_process_while_it_lasts() -> None:
    clock = ManualClock()
    first, second, third = circuit(clock), circuit(clock), circuit(clock)
    first.open_as_asked(600)
    assert first.asked
    clock.pass_s(599)
    second.restore(first.asked)
    assert second.state == "open"
    clock.pass_s(1)
    third.restore(first.asked)
    assert third.state == "closed"


def test_a_pause_under_a_clock_that_was_set_back_does_not_hold() -> None:
    clock = ManualClock()
    breaker = circuit(clock)
    clock.pass_s(10**7)
    breaker.open_as_asked(600)
    fail(circuit(clock), 3)
    clock.pass_s(-(10**7))
    assert breaker.state == "half_open"
    breaker.open_for(60)
    assert breaker.opens_at is not None
    clock.pass_s(61)
    assert breaker.enter()


class Machine(RuleBasedStateMachine):
    """Random use of a circuit breaker.

    A half-open circuit admits at most one caller, and an open circuit becomes half open within a bounded time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.circuit = circuit(self.clock)
        self.inside = 0

    @rule(how=st.sampled_from(["succeed", "fail", "leave"]))
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
