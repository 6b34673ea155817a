"""The example in docs/reference/languages.md works as written: it keeps the contract, and judges a change with it.

A new language needs a new member of an enumeration. So the example runs in a child process, in a copy of our package to
which the page's lines were applied.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.doc_pages import follow, run_in
from tests.support.sandboxes import runtime

SOURCE = "add() {\n    echo $(( $1 + $2 ))\n}\n\nhalf() {\n    echo $(( $1 / 2 ))\n}\n"
TEST = '. ./add.sh\n\ntest_add() {\n    [ "$(add 1 2)" = 3 ]\n}\n'
HALF = '. ./add.sh\n\ntest_half() {\n    [ "$(half 8)" = 4 ]\n}\n'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our package with the example in it."""
    runtime()
    return follow("languages.md", tmp_path_factory.mktemp("package"))


CONTRACT = """
import sys
from nightshift.core.tasks.task import Language
from nightshift.verdict.languages import dialect_of
from tests.verdict.languages import test_dialects as contract
language, (source, test) = Language.SHELL, sys.argv[1:]
contract.SOURCES[language], contract.TESTS[language] = ("add.sh", source), ("add_test.sh", test)
contract.IDLE[language] = "    add 1 2"
dialect = dialect_of(language)
contract.test_a_plan_has_the_tests_where_their_owner_has_them(language, dialect)
contract.test_a_file_of_tests_checks_something_or_does_not(language, dialect)
contract.test_faults_are_put_into_the_lines_that_are_asked_for(language, dialect)
contract.test_a_language_is_known_by_the_names_of_its_files(language)
"""


def test_the_contract_of_a_language_holds_for_the_example(package: Path) -> None:
    run_in(package, CONTRACT, SOURCE, TEST)


JUDGE = """
import asyncio, json, sys
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, open_folder, runtime
from tests.support.trees import TextTree
tree, jobs = TextTree(json.loads(sys.argv[1])), json.loads(sys.argv[2])

async def main():
    with open_folder() as folder:
        runner = SuiteRunner(bubblewrap(), runtime(), emit=lambda event: None, staging_dir=folder / "staging")
        made = [SuiteJob(base=tree, language=Language.SHELL, **job) for job in jobs]
        verdicts = await asyncio.gather(*map(runner.judge, made))
    print(json.dumps([{
        "passed": each.passed, "reason": each.reason, "label": each.evidence.label, "twins": each.evidence.twins,
        "results": {case.id: case.result for case in each.results}, "dropped": dict(each.evidence.dropped),
        "mutants": [mutant.noticed for mutant in each.evidence.mutants],
    } for each in verdicts]))

asyncio.run(main())
"""


def test_a_change_is_judged_by_the_tests_of_the_example(package: Path) -> None:
    tree = json.dumps({"add.sh": SOURCE.partition("\n\n")[0] + "\n", "add_test.sh": TEST})
    right: dict[str, object] = {
        "change": {"add.sh": SOURCE}, "given": {"half_test.sh": HALF}, "regression": ["add_test.sh"],
    }  # fmt: skip
    broken = {**right, "change": {"add.sh": SOURCE.replace("+", "-")}}
    own = {"change": {"add.sh": SOURCE.replace("$1 / 2", "$1 - 4")}, "own": {"half_test.sh": HALF}}
    cheating = {**right, "change": {"add.sh": SOURCE, "add_test.sh": "test_add() {\n    true\n}\n"}}
    jobs = json.dumps([right, broken, own, cheating])
    passed, regressed, self_tested, refused = json.loads(run_in(package, JUDGE, tree, jobs))

    both = {"half_test.sh::test_half": "passed", "add_test.sh::test_add": "passed"}
    assert (passed["passed"], passed["label"], passed["results"]) == (True, "exit_code", both), passed
    assert passed["twins"] == 1, "the copy of the given test fails, as it must"
    assert (regressed["passed"], regressed["results"]) == (False, {**both, "add_test.sh::test_add": "failed"})
    assert (self_tested["passed"], self_tested["mutants"]) == (True, [True]), self_tested
    assert list(refused["dropped"]) == ["add_test.sh"]
