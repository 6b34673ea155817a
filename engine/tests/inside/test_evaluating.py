from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.tests.support import trying
from engine.tests.support.trying import MENDED, MODULE, ORDER, TOTAL, of_total
from nightshift_engine.evaluation import Candidate, CandidateResult, EvaluationJob, EvaluationLimits, RunStatus
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support.sandboxes import open_folder
from tests.support.trees import TextTree

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = EvaluationLimits(wall_s=1.0, steps=20_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[SandboxEvaluator]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield evaluator


async def test_each_candidate_is_told_apart_by_how_it_ended(runner: SandboxEvaluator) -> None:
    candidates = (
        MENDED,
        of_total("result + 1", "result + 2"),
        of_total("count == 0", "count == 99"),
        of_total("return None", "return ("),
        of_total("count += 1", "while True:\n            count += 1"),
        of_total("count = 0", "__import__('os')._exit(0)"),
        of_total("count = 0", "__import__('time').sleep(60)"),
        of_total("count = 0", "raise SystemExit"),
        MENDED,
    )
    outcomes = await runner.evaluate(trying.job(), candidates, ORDER, PATIENCE)
    assert [outcome.how for outcome in outcomes] == [
        RunStatus.PASSED, RunStatus.FAILED, RunStatus.FAILED, RunStatus.INVALID, RunStatus.STEPS, RunStatus.CRASHED,
        RunStatus.TIMEOUT, RunStatus.FAILED, RunStatus.PASSED,
    ]  # fmt: skip
    assert outcomes[0] == CandidateResult(how=RunStatus.PASSED, passed=len(ORDER))
    assert (outcomes[1].passed, outcomes[2].passed) == (0, 0)
    assert outcomes[7].error.startswith("SystemExit")


async def test_methods_are_swapped_within_their_class(runner: SandboxEvaluator) -> None:
    order = ["test_small.py::test_the_last_thing_is_taken_first"]
    put = Candidate(path="small.py", scope="Pile.put", text="def put(self, thing):\n    self.things.append(thing)")
    bad = Candidate(path="small.py", scope="Pile.put", text="def put(self, thing):\n    self.__things.append(thing)")
    fine, mangled = await runner.evaluate(trying.job(), [put, bad], order, PATIENCE)
    assert fine.how is RunStatus.PASSED
    assert "_Pile__things" in mangled.error


async def test_what_cannot_be_swapped_is_imported_afresh(runner: SandboxEvaluator) -> None:
    decorated = Candidate(
        path="small.py",
        scope="total",
        text=f"@(lambda inner: lambda *given: inner(*given))\n{MENDED.text}",
    )
    full_module = Candidate(path="small.py", scope="", text=MODULE.replace("result + 1", "result"))
    broken = Candidate(path="small.py", scope="", text=MODULE.replace("result + 1", "result +"))
    absent = Candidate(path="small.py", scope="", text=f"import no_such_module\n{MODULE}")
    constant = Candidate(path="small.py", scope="", text=full_module.text.replace('"ab"', '"abc"'))
    outcomes = await runner.evaluate(trying.job(), [decorated, full_module, broken, absent, constant], ORDER, PATIENCE)
    assert [each.how for each in outcomes] == [
        RunStatus.PASSED,
        RunStatus.PASSED,
        RunStatus.INVALID,
        RunStatus.FAILED,
        RunStatus.FAILED,
    ]
    assert outcomes[3].error.startswith("ModuleNotFoundError")
    assert outcomes[4].passed == 3


async def test_a_file_that_cannot_be_imported_can_be_mended(runner: SandboxEvaluator) -> None:
    job = trying.job(MODULE.replace("def scaled(number):", "def scaled(number:"))
    full_module = Candidate(path="small.py", scope="", text=MODULE.replace("result + 1", "result"))
    same = Candidate(path="small.py", scope="total", text=TOTAL)
    outcomes = await runner.evaluate(job, [full_module, same], ORDER, PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.PASSED, RunStatus.INVALID]


async def test_candidates_see_nothing_that_others_left(runner: SandboxEvaluator) -> None:
    module = "import pathlib\n\n\ndef seen():\n    return False\n"
    tests = "from small import seen\n\n\ndef test_it():\n    assert seen() is False\n"
    text = (
        "def seen(kept=[]):\n    mark, old = pathlib.Path('mark'), kept[:]\n    kept.append(1)\n"
        "    found = mark.exists() or bool(old) or pathlib.Path('data.txt').read_text() != 'as it was'\n"
        "    mark.write_text('here')\n    pathlib.Path('data.txt').write_text('changed')\n    return found"
    )
    job = trying.job(module, tests, {"data.txt": "as it was"}, cpus=1.0)
    candidates = [Candidate(path="small.py", scope="seen", text=text)] * 4
    outcomes = await runner.evaluate(job, candidates, ["test_small.py::test_it"], PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.PASSED] * 4, outcomes


async def test_one_that_ends_the_whole_sandbox_does_not_take_the_others_along(runner: SandboxEvaluator) -> None:
    killer = of_total("count = 0", "__import__('os').kill(-1, 9)\n    count = 0")
    outcomes = await runner.evaluate(trying.job(), [MENDED, killer, MENDED, of_total("+ 1", "+ 2")], ORDER, PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.PASSED, RunStatus.CRASHED, RunStatus.PASSED, RunStatus.FAILED]


async def test_tests_that_a_command_names_are_enough(runner: SandboxEvaluator) -> None:
    job = trying.job(more={"tests/test_small.py": trying.TESTS}, tests="")
    job = EvaluationJob(base=job.base, change={}, tests={}, command=("pytest", "-q", "tests"))
    order = [f"tests/{name}" for name in ORDER]
    (outcome,) = await runner.evaluate(job, [MENDED], order, PATIENCE)
    assert outcome == CandidateResult(how=RunStatus.PASSED, passed=len(ORDER))


async def test_a_program_that_tests_start_is_the_candidate_as_well(runner: SandboxEvaluator) -> None:
    tests = (
        "import subprocess\nimport sys\n\n\ndef test_it():\n"
        "    program = 'import small; print(small.total([2]))'\n"
        "    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)\n"
        "    assert done.stdout == '2\\n'\n"
    )
    full_module = Candidate(path="small.py", scope="", text=MODULE.replace("result + 1", "result"))
    wrong = Candidate(path="small.py", scope="", text=MODULE)
    limits = EvaluationLimits(wall_s=5.0)
    outcomes = await runner.evaluate(
        trying.job(tests=tests), [MENDED, full_module, wrong], ["test_small.py::test_it"], limits
    )
    assert [each.how for each in outcomes] == [RunStatus.PASSED, RunStatus.PASSED, RunStatus.FAILED], outcomes


async def test_without_an_order_all_tests_must_be_collected_and_pass(runner: SandboxEvaluator) -> None:
    tests = {"test_small.py": trying.TESTS, "test_more.py": "import more\n\n\ndef test_more():\n    assert more.ONE\n"}
    full_text = MODULE.replace("result + 1", "result").replace("insert(0, thing)", "append(thing)")
    files = {"small.py": full_text.replace("def scaled(number):", "def scaled(number:"), "more.py": "ONE = 1\n"}
    job = EvaluationJob(base=TextTree(files), change={}, tests=tests, wall_s=20.0)
    candidates = [
        Candidate(path="small.py", scope="", text=full_text),
        Candidate(path="small.py", scope="", text=full_text.replace("result = start", "result = 1")),
        Candidate(path="small.py", scope="", text=f"import no_such_module\n{full_text}"),
        Candidate(path="more.py", scope="", text="ONE = 2\n"),
    ]
    outcomes = await runner.evaluate(job, candidates, (), PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.PASSED, RunStatus.FAILED, RunStatus.FAILED, RunStatus.FAILED]
    assert outcomes[0].passed == 6
    assert "SyntaxError" in outcomes[3].error
