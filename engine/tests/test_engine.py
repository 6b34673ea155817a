"""The engine on the real sandbox: the faults that it fixes, the code that it leaves alone, and its messages."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Mapping

import pytest

from engine.tests.support import trying
from nightshift.core.tasks.task import digest
from nightshift.core.text.encoding import decode, encode
from nightshift_engine.engine import Engine
from nightshift_engine.evaluation import EvaluationJob
from nightshift_engine.problem import Finding, Problem, Progress
from tests.support.sandboxes import open_folder
from tests.support.trees import TextTree

FARE = '''"""Fares of a ferry."""

PRICE = 4  # for each zone


def fare(zones, age):
    """What a ride costs.

    >>> fare(1, 30)
    4
    """
    if zones < 1:   # nobody rides nowhere
        raise ValueError("no zones")
    cost = zones * PRICE
    if age < 6:
        return 0
    if age <= 65:
        cost = cost // 2  # seniors
    return cost
'''
FARE_TESTS = """import pytest

from fares import fare


CASES = [(1, 30, 4), (3, 30, 12), (3, 70, 6), (2, 66, 4), (2, 65, 8), (2, 3, 0)]


@pytest.mark.parametrize(("zones", "age", "cost"), CASES)
def test_fares(zones, age, cost):
    assert fare(zones, age) == cost


def test_no_zones():
    with pytest.raises(ValueError):
        fare(0, 30)
"""


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield Engine(evaluator)


def job(files: Mapping[str, str], tests: Mapping[str, str], base: Mapping[str, str] | None = None) -> EvaluationJob:
    return EvaluationJob(base=TextTree(base), change=dict(files), tests=tests, start=dict(files), wall_s=20.0)


async def solve(
    engine: Engine, files: Mapping[str, str], tests: Mapping[str, str], budget_s: float = 40.0
) -> tuple[Finding, list[Progress]]:
    reports = list[Progress]()
    return await engine.solve(Problem(job=job(files, tests), budget_s=budget_s), reports.append), reports


async def test_a_wrong_boundary_is_mended_and_all_else_of_the_file_stays(engine: Engine) -> None:
    finding, reports = await solve(engine, {"fares.py": FARE}, {"test_fares.py": FARE_TESTS})
    assert finding.change == {"fares.py": FARE.replace("age <= 65", "age > 65")}
    assert "`<=` becomes `>`" in finding.description
    assert "in `fare`" in finding.description
    assert "2." in finding.plan
    assert "`fares.py:" in finding.plan
    assert 0 < finding.tried <= finding.estimated
    assert reports[0].text == "running the tests once before the search"


async def test_a_mend_that_takes_two_edits_grows_from_the_one_that_mends_a_part(engine: Engine) -> None:
    broken = FARE.replace("age < 6", "age < 16").replace("cost // 2", "cost // 3").replace("age <= 65", "age > 65")
    tests = FARE_TESTS.replace("(2, 3, 0)", "(2, 3, 0), (2, 6, 8), (1, 15, 4), (2, 5, 0)")
    finding, _ = await solve(engine, {"fares.py": broken}, {"test_fares.py": tests}, budget_s=90)
    assert finding.change is not None, finding.why_not
    assert finding.kind.count("+") == 1
    assert "age < 6:" in (finding.change["fares.py"] or "")
    assert "cost // 2" in (finding.change["fares.py"] or "")


async def test_where_all_tests_pass_nothing_is_touched(engine: Engine) -> None:
    right = FARE.replace("age <= 65", "age > 65")
    finding, _ = await solve(engine, {"fares.py": right}, {"test_fares.py": FARE_TESTS})
    assert finding.change is None
    assert "pass already" in finding.why_not


async def test_where_only_what_is_held_out_fails_the_whole_tests_are_used_and_that_is_said(engine: Engine) -> None:
    shown = FARE_TESTS.replace("(3, 70, 6), (2, 66, 4), (2, 65, 8), ", "").replace("(1, 30, 4), (3, 30, 12), ", "")
    start = job({"fares.py": FARE}, {"test_fares.py": shown})
    problem = Problem(job=start, whole_tests={"test_fares.py": FARE_TESTS}, budget_s=40)
    finding = await engine.solve(problem, lambda _progress: None)
    assert finding.change == {"fares.py": FARE.replace("age <= 65", "age > 65")}
    assert finding.saw_held_out
    honest = await engine.solve(
        Problem(job=job({"fares.py": FARE}, {"test_fares.py": FARE_TESTS}), whole_tests={"x.py": ""}), lambda _p: None
    )
    assert not honest.saw_held_out


async def test_what_a_suite_refused_is_never_answered_again_and_the_next_comes_without_search(engine: Engine) -> None:
    text = "def first_even(numbers):\n    for number in numbers:\n        if number % 2:\n            return number\n"
    tests = {"test_even.py": "from even import first_even\n\ndef test_it():\n    assert first_even([1, 4, 7]) == 4\n"}
    start = job({"even.py": text}, tests)
    seen, excluded = list[str](), frozenset[str]()
    change: Mapping[str, str | None] = start.change
    for _ in range(3):
        problem = Problem(
            job=EvaluationJob(base=start.base, change=change, tests=tests, wall_s=20.0),
            task_id=5,
            excluded=excluded,
            budget_s=40,
        )
        finding = await engine.solve(problem, lambda _progress: None)
        assert finding.change is not None, finding.why_not
        change = {**change, **finding.change}
        seen.append(str(change["even.py"]))
        excluded |= {digest(change)}
    assert len({ast.dump(ast.parse(program)) for program in seen}) == 3
    assert all(compile(program, "even.py", "exec") for program in seen)


async def test_of_changes_that_pass_the_one_that_agrees_with_the_docstring_is_chosen(engine: Engine) -> None:
    text = (
        'def larger(a, b):\n    """The larger one.\n\n    >>> larger(7, 2)\n    7\n'
        '    >>> larger(4, 4)\n    4\n    """\n'
        "    if a < b:\n        return a\n    return b\n"
    )
    tests = {"test_larger.py": "from larger import larger\n\ndef test_it():\n    assert larger(1, 3) == 3\n"}
    finding, _ = await solve(engine, {"larger.py": text}, tests)
    assert finding.change is not None
    body = (finding.change["larger.py"] or "").partition('"""\n    ')[2]
    assert re.match(r"if a >=? b:\n        return a\n    return b|if a <=? b:\n        return b\n    return a", body), (
        body
    )
    assert finding.warning


@pytest.mark.parametrize(("right", "wrong"), [(b"in name", b"not in name")])
async def test_a_file_in_another_encoding_is_fixed_in_its_own_bytes(engine: Engine, right: bytes, wrong: bytes) -> None:
    raw = (
        b"# -*- coding: latin-1 -*-\nfrom math import pi\n\n\ndef french(name):  # d\xe9j\xe0 vu\n"
        b"    return '\xe9' in name and pi > 3\n"
    )
    base = {"words.py": decode(raw.replace(right, wrong))}
    tests = {
        "test_words.py": "from words import french\n\ndef test_yes():\n    assert french('caf\u00e9')\n\n"
        "def test_no():\n    assert not french('tea')\n"
    }
    wanted = EvaluationJob(base=TextTree(base), change={}, tests=tests, wall_s=20.0)
    finding = await engine.solve(Problem(job=wanted, budget_s=40.0), lambda _progress: None)
    assert finding.change is not None, finding.why_not
    assert encode(finding.change["words.py"] or "") == raw
