"""Results of models by kind of task, in a real store. A route never changes once it is decided."""

from __future__ import annotations

import hashlib

import pytest

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.routing import ModelResult, Route
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Kind
from nightshift.storage.db import recovery
from nightshift.storage.db.model_results import ModelResults
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store

BIG, SMALL = "openai=big", "ollama=small"


class Bench:
    """A store with tasks, and functions that record which models worked on each task."""

    def __init__(self, store: Store) -> None:
        self.store, self.results = store, ModelResults(store.db, clock=store.clock)

    def attempt(self, ending: Ending, *writers: str, kind: Kind = Kind.LIBRARY, description: str = "Do it") -> int:
        """Add a task with one iteration by each of these models; return the task's id.

        A model name in parentheses means that the model's reply broke off.
        """
        self.store.queue.submit(parse_spec({"description": description, "kind": kind})).result()
        task = self.store.queue.claim("w1").result()
        assert task is not None
        self.write(task.id, Phase.PLANNING, writers[0], 0, 0, kind)
        for number, writer in enumerate(writers, 1):
            self.write(task.id, Phase.CODING, writer, number, number, kind)
        self.store.clock.advance(60)
        self.end(task.id, task.fence, ending)
        return task.id

    def write(self, task_id: int, phase: Phase, writer: str, step_no: int, iteration: int, kind: Kind) -> None:
        backend, _, model = writer.strip("()").partition("=")
        request = ModelRequest(
            phase=phase,
            messages=(Message(role="user", text="do it"),),
            task_id=task_id,
            step_no=step_no,
            iteration=iteration,
            kind=kind,
        )
        cost = None if backend == "ollama" else 0.01
        reply = Completion(
            text="x", backend=backend, model=model, tokens_in=100, tokens_out=10, cost_usd=cost, latency_s=2.0
        )
        save = self.store.steps.save_lost if writer.startswith("(") else self.store.steps.save_reply
        save(request, reply).result()

    def end(self, task_id: int, fence: int, ending: Ending) -> None:
        commit = hashlib.sha256(str(task_id).encode()).hexdigest()[:40] if ending is Ending.COMMITTED else None
        if commit:
            self.store.state.record_commit(
                Commit(task_id=task_id, attempt=1, repo="/r", branch="b", commit=commit, base="0" * 40, subject="s",
                       label="tests_passed")
            ).result()  # fmt: skip
        self.store.queue.finish(task_id, fence, ending, commit=commit).result()


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


def test_who_began_and_wrote_what_was_committed_solved_it(bench: Bench) -> None:
    bench.attempt(Ending.COMMITTED, BIG)
    bench.attempt(Ending.COMMITTED, BIG, BIG)
    bench.attempt(Ending.GAVE_UP, BIG, BIG, BIG)
    bench.attempt(Ending.STUCK, SMALL, kind=Kind.WEB_APP)
    results = bench.results.results()
    assert results.keys() == {"library", "web_app"}
    assert results["library"] == {
        BIG: ModelResult(began=3, solved=2, tries=6, tokens_in=600, tokens_out=60, cost_usd=0.06, seconds=12.0)
    }
    assert results["web_app"] == {
        SMALL: ModelResult(began=1, tries=1, tokens_in=100, tokens_out=10, unpriced=1, seconds=2.0)
    }


def test_who_is_called_for_help_is_credited_apart_and_blamed_for_nothing(bench: Bench) -> None:
    bench.attempt(Ending.COMMITTED, SMALL, BIG)
    bench.attempt(Ending.GAVE_UP, SMALL, BIG, BIG)
    results = bench.results.results()["library"]
    assert (results[SMALL].began, results[SMALL].solved, results[SMALL].tries) == (2, 0, 2)
    assert (results[BIG].began, results[BIG].called, results[BIG].rescued) == (0, 2, 1)
    assert results[BIG].cost_usd == 0


def test_the_engine_is_no_model_and_what_it_solved_no_model_did(bench: Bench) -> None:
    engine = f"{BUILT_IN}={BUILT_IN}"
    bench.attempt(Ending.COMMITTED, engine)
    bench.attempt(Ending.COMMITTED, BIG, engine)
    bench.attempt(Ending.COMMITTED, engine, BIG)
    results = bench.results.results()["library"]
    assert results.keys() == {BIG}
    assert (results[BIG].began, results[BIG].solved) == (2, 1)


def test_a_route_stays_as_it_was_decided(bench: Bench) -> None:
    assert bench.results.route(7, 1) is None
    route = Route(kind="library", ladder=(SMALL, BIG), first=BIG, cheap=SMALL, explored=True, why="so")
    bench.results.keep(7, 1, route).result()
    bench.results.keep(7, 1, Route(kind="library", ladder=(BIG,), first=BIG, cheap=BIG)).result()
    assert bench.results.route(7, 1) == route
    assert list(recovery.check_rows(bench.store.db.reader())) == []
    assert bench.results.route(7, 2) is None
