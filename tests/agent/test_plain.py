"""The short prompt for small models: the task, the existing files, and the name of the file to send."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from nightshift.core.dialogue import Message
from nightshift.core.model_profile import ModelClass, ModelProfile
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import Bench, block, case_for, model_for

P = Phase
SMALL = ModelProfile(size=ModelClass.SMALL)
TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
WRONG, OTHER, THIRD, RIGHT = (
    f"```python\ndef add(a, b):\n    return {value}\n```" for value in ("a - b", "a * b", "b - a", "a + b")
)
REQUEST = "Answer with the whole file add.py in one fenced Python block and nothing else."


def bench_of(*codings: str, **fields: Any) -> Bench:
    return Bench(model_for(*codings), profile=SMALL, **fields)


def ask(bench: Bench, at: int) -> str:
    return bench.model.requests[at].messages[-1].text


async def test_the_first_request_is_word_for_word_a_bare_question() -> None:
    bench = bench_of(RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING]
    assert bench.model.requests[0].messages == (Message(role="user", text=f"Write add in add.py\n\n{REQUEST}"),)
    assert bench.model.requests[0].temperature == 0.0
    assert bench.forms == [True]


async def test_after_a_failure_two_answers_begin_afresh_and_the_fourth_mends_without_reflecting() -> None:
    bench = bench_of(WRONG, OTHER, THIRD, RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING] * 4
    first, second, third, mend = (bench.model.requests[at].messages for at in range(4))
    assert first == second == third, "a fresh answer is asked for as barely as the first one"
    heats = [request.temperature for request in bench.model.requests]
    assert len(set(heats)) == 4, "no prompt is sent twice"
    assert heats[1] is not None and heats[1] > 0.5  # noqa: PT018 - one thing
    assert "    return b - a" in mend[-1].text
    assert "AssertionError" in mend[-1].text
    assert "```" not in mend[-1].text, "what is shown has another form than what is asked for"
    assert mend[-1].text.endswith(REQUEST)


@pytest.mark.parametrize(
    "shell", ['    """Add two numbers."""', "    pass", "    ...", "    raise NotImplementedError"]
)
async def test_functions_without_bodies_are_asked_for_once_more(shell: str) -> None:
    bench = bench_of(f"```python\ndef add(a, b):\n{shell}\n```", RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert state.iteration == 1
    assert ask(bench, 1) != ask(bench, 0)


async def test_functions_without_bodies_are_judged_when_they_come_again() -> None:
    shell = (
        "```python\nfrom typing import Protocol\n\n\nclass Adder(Protocol):\n    def add(self, a: int) -> int: ...\n```"
    )
    tests = {"test_port.py": "from port import Adder\n\n\ndef test_it():\n    assert Adder.add\n"}
    bench = bench_of(shell, shell)
    state = await bench.run(case_for("Write the protocol Adder in port.py", tests=tests))
    assert state.phase is P.COMMIT


async def test_code_that_failed_before_is_not_mended_again() -> None:
    bench = bench_of(WRONG, WRONG, WRONG, RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert "return" not in ask(bench, 3)
    prompts = {(ask(bench, at), request.temperature) for at, request in enumerate(bench.model.requests)}
    assert len(prompts) == 4, "no prompt is sent twice"


async def test_an_answer_without_a_file_is_asked_for_again_bolder_and_in_other_words() -> None:
    bench = bench_of("Done already: it is there", RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert state.iteration == 1
    assert ask(bench, 0) != ask(bench, 1)
    first, second = (request.temperature for request in bench.model.requests)
    assert first is not None
    assert second is not None
    assert second > first
    assert bench.forms == [False, True]


async def test_a_file_to_change_is_shown_indented_and_an_afresh_answer_begins_from_it() -> None:
    base = {"add.py": "def add(a, b):\n    return 0\n"}
    bench = bench_of(WRONG, OTHER, RIGHT, base=base)
    await bench.run(case_for("Mend add in add.py", tests=TESTS))
    assert "This is add.py:\n\n    def add(a, b):\n        return 0" in ask(bench, 0)
    assert ask(bench, 1) == ask(bench, 2) == ask(bench, 0)


async def test_after_an_answer_that_changes_nothing_the_failure_is_shown() -> None:
    base = {"add.py": "def add(a, b):\n    return a - b\n"}
    bench = bench_of(WRONG, WRONG, RIGHT, base=base)
    state = await bench.run(case_for("Mend add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    prompts = [(ask(bench, at), request.temperature) for at, request in enumerate(bench.model.requests)]
    assert len(set(prompts)) == 3, "no prompt is sent twice"
    assert "AssertionError" not in prompts[0][0]
    assert all("This is add.py" in text and "AssertionError" in text for text, _ in prompts[1:])


@pytest.mark.parametrize(
    ("description", "fields"),
    [
        ("Write add in add.py, mul in mul.py and sub in sub.py", {}),
        ("Split the work: write add in add.py", {"split": True}),
    ],
)
async def test_a_large_task_has_a_plan_whoever_is_asked(description: str, fields: dict[str, Any]) -> None:
    bench = bench_of(block("add.py", "def add(a, b):\n    return a + b\n"))
    await bench.run(case_for(description, tests=TESTS, **fields))
    assert bench.model.phases == [P.PLANNING, P.CODING]


async def test_a_file_that_is_too_long_to_be_sent_is_changed_in_the_usual_form() -> None:
    bench = bench_of(block("add.py", "def add(a, b):\n    return a + b\n"), base={"add.py": "x = 1\n" * 500})
    await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert bench.model.phases[0] is P.PLANNING


async def test_of_a_long_python_file_single_functions_are_asked_for_and_put_into_it() -> None:
    others = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(200))
    base = {"add.py": f"{others}def add(a, b):\n    return a - b\n"}
    bench = bench_of(RIGHT, base=base)
    state = await bench.run(case_for("Mend add(a, b) in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING]
    assert "This stands in add.py:\n\n    def add(a, b):\n        return a - b\n\nAnswer with the" in ask(bench, 0)
    assert state.change["add.py"] == f"{others}def add(a, b):\n    return a + b\n"


async def test_of_a_long_file_that_the_task_names_nothing_of_the_outline_is_shown() -> None:
    others = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(50))
    bench = bench_of(RIGHT, base={"add.py": f"{others.rstrip()}\n"})
    state = await bench.run(case_for("Write add(a, b) in add.py", tests=TESTS))
    assert "add.py defines:\n\n    def f0()\n    def f1()" in ask(bench, 0)
    assert state.change["add.py"] == f"{others}def add(a, b):\n    return a + b\n"


async def test_other_models_are_asked_as_before() -> None:
    bench = Bench(model_for(block("add.py", "def add(a, b):\n    return a + b\n")))
    await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert bench.model.phases == [P.PLANNING, P.CODING]


async def test_tests_of_its_own_are_asked_for_in_plain_words_without_the_body_of_the_code() -> None:
    own = "```python\nfrom add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n```"
    bench = Bench(model_for(RIGHT, TESTING=[own]), profile=SMALL)
    state = await bench.run(case_for("Write `add` in add.py: the sum of two numbers"))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING, P.TESTING]
    system, user = bench.model.requests[1].messages
    assert system.text.startswith("Phase: TESTING\n")
    assert "def add(a, b)" in user.text
    assert "a + b" not in user.text
    (path,) = state.own_tests
    assert user.text.rstrip().endswith(REQUEST.replace("add.py", path))


SHOP = {
    "shop/prices.py": "def discount(total):\n    return total\n",
    "shop/stock.py": "class Stock:\n    def is_empty(self):\n        return False\n",
    "shop/fees.py": "".join(f"def fee{number}():\n    return {number}\n\n\n" for number in range(60)),
    "tests/test_prices.py": "from shop.prices import discount\n\n\ndef test_it():\n    assert discount(1) == 1\n",
    "lib/dates.js": "export function daysBetween(a, b) {\n  return b - a;\n}\n",
    "count.go": "package text\n\n// WordCount counts words.\nfunc WordCount(s string) int { return 0 }\n",
    "README.md": "# Shop\n\nPrices and stock.\n",
}


@pytest.mark.parametrize(
    ("description", "path", "shown"),
    [
        ("discount(200) should be 190", "shop/prices.py", "    def discount(total):"),
        ("The discount of large orders is missing, tests/test_prices.py fails", "shop/prices.py", "def discount"),
        ("Stock.is_empty() is never True; fix it", "shop/stock.py", "def is_empty"),
        ("fee7 should give 8", "shop/fees.py", "    def fee7():\n        return 7\n\nAnswer"),
        ("daysBetween counts milliseconds instead of days", "lib/dates.js", "export function daysBetween"),
        ("WordCount always gives 0; count the words", "count.go", "func WordCount"),
        ("Explain the discount in README.md", "README.md", "Prices and stock."),
    ],
)
async def test_a_task_that_names_no_file_is_about_the_nearest_file_of_its_repository(
    description: str, path: str, shown: str
) -> None:
    bench = bench_of(*["no file"] * 20, base=SHOP)
    await bench.run(case_for(description, whole_tree=True))
    assert f"{path}" in ask(bench, 0).rsplit("Answer with", 1)[1]
    assert shown in ask(bench, 0)


async def test_a_block_without_a_path_is_the_file_that_was_asked_for() -> None:
    code = "def discount(total):\n    return total - 10\n"
    own = "```python\nfrom shop.prices import discount\n\n\ndef test_it():\n    assert discount(200) == 190\n```"
    bench = Bench(model_for(f"```python\n{code}```", TESTING=[own]), profile=SMALL, base=SHOP)
    state = await bench.run(case_for("discount(200) should be 190", whole_tree=True))
    assert state.change["shop/prices.py"] == code


async def test_tests_of_a_src_layout_are_told_what_to_import() -> None:
    path = "import sys\n\nsys.path.insert(0, 'src')\n"
    own = f"```python\n{path}from shop.add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n```"
    bench = Bench(model_for(RIGHT, TESTING=[own]), profile=SMALL)
    await bench.run(case_for("Write `add` in src/shop/add.py: the sum of two numbers"))
    assert "are enough. Import from shop.add.\n" in ask(bench, 1)


async def test_tests_of_a_django_project_are_asked_for_as_such() -> None:
    base = {"manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"}
    own = "```python\nfrom add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n```"
    bench = Bench(model_for(RIGHT, TESTING=[own]), profile=SMALL, base=base)
    await bench.run(case_for("Write `add` in add.py: the sum of two numbers", whole_tree=True))
    assert "Write tests for it with django.test.TestCase." in ask(bench, 1)


@pytest.mark.parametrize(
    ("fields", "is_put_off"), [({}, True), ({"tests": TESTS}, False), ({"description": "Write add in add.py"}, False)]
)
async def test_tests_that_the_task_mentions_are_put_off(fields: dict[str, Any], is_put_off: bool) -> None:
    description = fields.pop("description", "Write add in add.py and add a test")
    bench = bench_of(*[RIGHT] * 9)
    with contextlib.suppress(AssertionError):  # no reply is left for the tests, which are not asked for here
        await bench.run(case_for(description, **fields))
    assert ("Leave out tests" in ask(bench, 0)) is is_put_off


async def test_an_unchanged_answer_is_asked_for_again_where_no_test_could_show_its_fault() -> None:
    base = {"add.py": "def add(a, b):\n    return a - b\n"}
    own = "```python\nfrom add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n```"
    bench = Bench(model_for(WRONG, RIGHT, TESTING=[own]), profile=SMALL, base=base)
    state = await bench.run(case_for("Mend `add` in add.py: the sum of two numbers"))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING, P.CODING, P.TESTING]
    assert ask(bench, 1).endswith("change it.")


async def test_tests_of_scripts_are_told_the_path_from_their_folder() -> None:
    code = "```javascript\nexport const add = (a, b) => a + b;\n```"
    bench = Bench(model_for(code, TESTING=["no test"] * 9), profile=SMALL)
    with contextlib.suppress(AssertionError):  # no reply is left for another try
        await bench.run(case_for("Write `add` in src/add.mjs: the sum of two numbers", language="javascript"))
    assert 'import test from "node:test"; import { add } from "../src/add.mjs";' in ask(bench, 1)
