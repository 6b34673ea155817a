"""One call under its timeouts, in virtual time: when a call counts as silent, when as slow, and what is paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BaseModelHandler, CallText, OnText, ThoughtText
from nightshift.models.call import CallPolicy, call_once
from nightshift.models.errors import TimedOut
from tests.support.virtual_time import run

POLICY = CallPolicy(first_text_s=300, gap_s=120, total_s=900)


class Script(BaseModelHandler):
    """A model that sends each text after a wait, and then either ends or stays silent forever."""

    name = "script"

    def __init__(
        self, script: Sequence[tuple[float, str]], *, ends: bool = True, local: bool = False, **counts: Any
    ) -> None:
        super().__init__(model="m")
        self._script, self._ends, self._local = script, ends, local
        self._counts = {"tokens_in": 1, "tokens_out": 1, **counts}

    @property
    def free(self) -> bool:
        return self._local

    def is_available(self) -> bool:
        return True

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        assert on_text
        for wait_s, text in self._script:
            await asyncio.sleep(wait_s)
            on_text(text)
        if not self._ends:
            await asyncio.sleep(10**9)
        full_text = "".join(text for _, text in self._script)
        return Completion(text=full_text, backend=self.name, model=self.model, **self._counts)


def call(backend: BaseModelHandler, **more: Any) -> tuple[Completion | ModelUnavailable, list[Completion], float]:
    """Make a call, and return its result, the replies that it lost, and its duration."""
    lost: list[Completion] = []

    async def once() -> tuple[Completion | ModelUnavailable, float]:
        turn = Message(role="user", text="Write add.")
        request = ModelRequest(phase=Phase.CODING, messages=(turn,), **more)
        try:
            answer: Completion | ModelUnavailable = await call_once(backend, request, POLICY, lost.append)
        except ModelUnavailable as error:
            answer = error
        return answer, asyncio.get_running_loop().time()

    answer, took_s = run(once())
    return answer, lost, took_s


def test_a_slow_stream_is_no_silence() -> None:
    answer, lost, took_s = call(Script([(119, "word ")] * 7))
    assert isinstance(answer, Completion)
    assert (answer.text, lost, took_s) == ("word " * 7, [], 833)


@pytest.mark.parametrize(
    ("script", "says", "after_s", "paid"),
    [
        ([], "did not answer in time", 300, False),
        ([(10, "")], "did not answer in time", 130, False),
        ([(10, "def add")], "stopped in the middle", 130, True),
        ([(1, "x"), (60, "y")] * 20, "wrote so slowly", 900, True),
    ],
)
def test_silence_and_a_drip_end_and_only_what_was_written_is_paid_for(
    script: Sequence[tuple[float, str]], says: str, after_s: float, paid: bool
) -> None:
    answer, lost, took_s = call(Script(script, ends=False))
    assert isinstance(answer, TimedOut)
    assert says in str(answer)
    assert took_s == after_s
    assert [bool(spending.tokens_out) for spending in lost] == [True] * paid


def test_a_model_of_the_owners_may_take_all_its_minutes_for_the_first_word() -> None:
    answer, lost, took_s = call(Script([(840, "done")], local=True))
    assert isinstance(answer, Completion)
    assert (answer.text, lost, took_s) == ("done", [], 840)
    hung, _, took_s = call(Script([], ends=False, local=True))
    assert isinstance(hung, TimedOut)
    assert took_s == 900


def test_a_model_that_still_writes_at_the_end_is_cut_off_and_its_work_is_not_lost() -> None:
    answer, lost, took_s = call(Script([(1, "a = 1\n")] * 2000))
    assert isinstance(answer, Completion)
    assert answer.finish is Finish.LENGTH
    assert answer.text.startswith("a = 1\n" * 890)
    assert answer.extra["estimated"]
    assert (lost, took_s) == ([], 900)


def test_a_reply_without_an_end_is_broken_off_before_it_fills_the_memory() -> None:
    answer, lost, _ = call(Script([(0, "x" * 1_000_000)] * 100), max_tokens=500)
    assert isinstance(answer, ModelUnavailable)
    assert "a reply of more than" in str(answer)
    assert lost[0].tokens_out > 2_000_000


@pytest.mark.parametrize("kind", [str, CallText, ThoughtText])
def test_a_stream_is_cut_where_its_reservation_ends_whatever_it_holds(kind: type[str]) -> None:
    answer, lost, _ = call(Script([(1, kind("x = 1  # one\n"))] * 400), max_tokens=500, cut_at=500)
    assert isinstance(answer, Completion)
    assert (answer.finish, lost) == (Finish.LENGTH, [])
    assert 500 < answer.tokens_out <= 525
    assert answer.extra["estimated"]


@pytest.mark.parametrize("counts", [{"tokens_in": -5}, {"tokens_out": "many"}, {"tokens_out": 10**9}])
def test_counts_that_are_none_are_replaced_by_estimates(counts: dict[str, Any]) -> None:
    answer, _, _ = call(Script([(1, "word " * 7)], **counts))
    assert isinstance(answer, Completion)
    assert answer.extra["estimated"]
    assert (answer.tokens_in, answer.tokens_out) == (7, 14)


@pytest.mark.parametrize("loads_s", [400.0, 1000.0])
def test_loading_the_packages_is_no_silence_of_the_server(loads_s: float) -> None:
    class Slow(Script):
        async def load(self) -> None:
            await asyncio.sleep(loads_s)

    answer, _, took_s = call(Slow([(1.0, "hello")]))
    assert isinstance(answer, Completion)
    assert (answer.text, took_s) == ("hello", loads_s + 1.0)
