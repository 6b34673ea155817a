"""The best change of an attempt: how it is chosen, and that it survives a restart."""

from __future__ import annotations

import json
from dataclasses import replace

from nightshift.core.tasks.attempt_state import AttemptState, holds_work
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Label, Result, Verdict
from nightshift.storage.db.codec import decode, encode
from tests.support.agent_parts import Bench, block, case_for, model_for
from tests.support.trees import TextTree

CASES = {0: 0, 2: 5, 4: 9}
TESTS = {
    f"test_{n}.py": f"from add import add\n\n\ndef test_add():\n    assert add({n}, {n // 2 * 1}) == {n + n // 2}\n"
    for n in CASES
}


def code(*right: int) -> str:
    """Return a model's reply whose code is correct only if the first argument is one of these numbers."""
    return block("add.py", f"def add(a, b):\n    return a + b if a in {right!r} else None\n")


def judged(passed: int, failed: int, *, good: bool = False, sandbox: str = "bubblewrap") -> Verdict:
    results = [Result.PASSED] * passed + [Result.FAILED] * failed
    return Verdict(
        passed=good,
        reason="",
        evidence=Evidence(tree="t", sandbox=sandbox, label=Label.TESTS_PASSED),
        results=tuple(CaseResult(id=f"t::{n}", result=result) for n, result in enumerate(results)),
    )


def after(state: AttemptState, name: str, verdict: Verdict) -> AttemptState:
    return replace(state, change={name: "x\n"}, verdict=verdict).with_best()


async def test_the_change_with_most_tests_passing_is_kept_though_later_ones_ran() -> None:
    bench = Bench(model_for(code(0), code(0, 2), code(4), code(), code(7), code(8)))
    state = await bench.run(case_for(tests=TESTS, iterations=4))
    assert (state.phase, state.ending) == (Phase.ABANDON, Ending.GAVE_UP)
    assert state.best_here is not None
    assert (state.best_here.iteration, state.best_here.rank) == (2, (False, 2, -1))
    best = state.at_best()
    assert (best.change, best.iteration) == (state.best_here.change, 2)
    assert "in (0, 2)" in str(best.change["add.py"])
    assert "test_4.py::test_add" in best.feedback


async def test_it_is_stored_with_each_step_and_a_state_of_an_older_version_has_none() -> None:
    bench = Bench(model_for(code(0), code(7), code(8)))
    await bench.run(case_for(tests=TESTS, iterations=2))
    (first, *_, last) = [step.state for step in bench.steps if step.phase is Phase.TESTING]
    assert first.best is not None
    stored = decode(AttemptState, encode(last))
    assert stored.best == last.best == first.best
    old = {name: value for name, value in json.loads(encode(last)).items() if name not in {"best", "test_prompts"}}
    again = decode(AttemptState, json.dumps(old))
    assert (again.best, again.at_best(), again.test_prompts) == (None, again, ())


def test_one_that_passed_comes_first_then_the_count_then_few_failures_then_the_later() -> None:
    state = AttemptState(phase=Phase.TESTING, base="b")
    ranked = [
        ("few", judged(1, 4)), ("more", judged(3, 4)), ("fewer_failing", judged(3, 2)), ("later", judged(3, 2)),
        ("passed", judged(1, 0, good=True)),
    ]  # fmt: skip
    for name, verdict in ranked:
        state = after(state, name, verdict)
        assert state.best is not None
        assert list(state.best.change) == [name]
    for name, verdict in ranked[:-1]:
        state = after(state, name, verdict)
        assert state.best is not None
        assert list(state.best.change) == ["passed"]


def test_files_of_the_owner_and_those_of_a_fresh_project_are_no_work() -> None:
    tree = TextTree({"README.md": "# Old\n"})
    given = {"add.py": "x = 1\n"}
    assert not holds_work({}, given, tree, in_project=True)
    assert not holds_work(given, given, tree, in_project=False)
    assert holds_work({"add.py": "x = 2\n"}, given, tree, in_project=False)
    assert holds_work({"add.py": None}, given, tree, in_project=False)
    assert holds_work({"gone.py": None}, given, tree, in_project=False)
    assert not holds_work({"requirements.txt": ""}, given, tree, in_project=True)
    assert holds_work({"README.md": "# New\n"}, given, tree, in_project=True)
    assert holds_work({"requirements.txt": ""}, given, tree, in_project=False)
