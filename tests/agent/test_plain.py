"""The short prompt for small models: the task, the existing files, and the name of the file to send."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.core.dialogue import Message
from nightshift.core.gauge import ModelClass, ModelProfile
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import TESTS, Bench, case_for, model_for

P = Phase
SMALL = ModelProfile(size=ModelClass.SMALL)
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
    ("path", "base", "hint"),
    [
        ("vowels.go", {"a.go": "// Package x.\npackage xstrings\n", "a_test.go": "package xstrings_test\n"},
         "vowels.go belongs to package xstrings."),
        ("sub/vowels.go", {"a.go": "package xstrings\n"}, ""),
        ("src/case.js", {"package.json": '{"type" : "module"}'},
         "src/case.js is an ES module: it uses import and export."),
        ("src/case.js", {"package.json": "{}"}, ""),
        ("src/case.js", {"package.json": '{"type": "module"}', "src/case.js": "export {};\n"}, ""),
    ],
)  # fmt: skip
async def test_a_new_file_of_go_or_javascript_is_placed_before_it_is_asked_for(
    path: str, base: dict[str, str], hint: str
) -> None:
    language = "go" if path.endswith(".go") else "javascript"
    bench = bench_of("no code", base=base)
    with pytest.raises(AssertionError, match="no reply is left"):
        await bench.run(case_for(f"Write f in {path}", language=language))
    before, _, after = ask(bench, 0).partition(f"Answer with the whole file {path}")
    assert after
    assert before.rstrip().endswith(hint)
    assert ("belongs to" in before, "ES module" in before) == ("belongs to" in hint, "ES module" in hint)


async def test_a_task_for_documentation_asks_for_the_page_and_shows_the_code_that_it_describes() -> None:
    base = {"README.md": "# Sums\n", "src/a.js": "export const a = 1;\n"}
    bench = bench_of("```markdown\n# Sums\n\n`a` is 1.\n```", base=base)
    with pytest.raises(AssertionError, match="no reply is left"):
        await bench.run(case_for("Describe all exports of src/a.js in README.md", language="javascript"))
    assert "This is src/a.js:\n\n    export const a = 1;\n\nThis is README.md:" in ask(bench, 0)
    assert ask(bench, 0).endswith("Answer with the whole file README.md in one fenced block and nothing else.")
    assert "This is README.md:\n\n    # Sums\n\n    `a` is 1." in ask(bench, 1)


async def test_a_path_that_a_model_repeats_above_its_code_is_no_part_of_the_file() -> None:
    bench = bench_of("```python\n# add.py\n\ndef add(a, b):\n    return a + b\n```")
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.change["add.py"] == "def add(a, b):\n    return a + b\n"
    base = {"add.py": "# add.py\ndef add(a, b):\n    return a - b\n"}
    bench = bench_of("```python\n# add.py\ndef add(a, b):\n    return a + b\n```", base=base)
    state = await bench.run(case_for("Mend add in add.py", tests=TESTS))
    assert state.change["add.py"] == "# add.py\ndef add(a, b):\n    return a + b\n"


@pytest.mark.parametrize("shell", ['    """Add two numbers."""', "    ...", "    raise NotImplementedError"])
async def test_functions_without_bodies_are_asked_for_once_more(shell: str) -> None:
    bench = bench_of(f"```python\ndef add(a, b):\n{shell}\n```", RIGHT)
    state = await bench.run(case_for("Write add in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert state.iteration == 1
    assert ask(bench, 1) != ask(bench, 0)


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


async def test_of_a_long_python_file_single_functions_are_asked_for_and_put_into_it() -> None:
    others = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(200))
    base = {"add.py": f"{others}def add(a, b):\n    return a - b\n"}
    bench = bench_of(RIGHT, base=base)
    state = await bench.run(case_for("Mend add(a, b) in add.py", tests=TESTS))
    assert state.phase is P.COMMIT
    assert bench.model.phases == [P.CODING]
    assert "This stands in add.py:\n\n    def add(a, b):\n        return a - b\n\nAnswer with the" in ask(bench, 0)
    assert state.change["add.py"] == f"{others}def add(a, b):\n    return a + b\n"


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


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("export function add(a, b) {\n  return a + b;\n}", 'import { add } from "./lib/add.mjs";'),
        ("const add = (a, b) => a + b;\nexport { add, add as plus };", 'import { add, plus } from "./lib/add.mjs";'),
        ("export default (a, b) => a + b;", 'import code from "./lib/add.mjs";'),
    ],
)
async def test_the_request_for_tests_of_a_script_says_how_to_import_it(code: str, line: str) -> None:
    own = (
        "```javascript\nimport test from 'node:test';\nimport assert from 'node:assert/strict';\n"
        f"{line}\ntest('add', () => assert.equal({'code' if 'default' in code else 'add'}(2, 3), 5));\n```"
    )
    bench = Bench(model_for(f"```javascript\n{code}\n```", TESTING=[own]), profile=SMALL)
    await bench.run(case_for("Write `add` in lib/add.mjs: the sum of two numbers", language="javascript", iterations=1))
    assert line in bench.model.requests[1].messages[-1].text.replace('"../', '"./')


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
        ("fee7 should give 8", "shop/fees.py", "    def fee7():\n        return 7\n\nAnswer"),
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
