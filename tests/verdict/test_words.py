"""The task's description is compared with a change that passed its tests, in the real sandbox."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Verdict
from tests.support.sandboxes import Judge

SLUG = {"slug.py": "def slugify(text):\n    return '-'.join(text.lower().split())\n"}
SLUG_TESTS = {
    "tests/test_slug.py": "from slug import slugify\n\n\ndef test_words():\n    assert slugify('A b') == 'a-b'\n\n\n"
    "def test_one():\n    assert slugify('C') == 'c'\n"
}
ADD = "def add(a, b):\n    return a + b\n"
TESTS = {"tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
ASKED = "Write add(a, b), the sum of a and b; add(1, 2) == 3"


async def judge_change(
    judge: Judge, asked: str, calc: str = ADD, base: Mapping[str, str] | None = None, **more: object
) -> Verdict:
    """Return the verdict on a `calc.py`, whose test accepts every `add` that is right for 2 and 3."""
    verdict = await judge({"calc.py": calc}, TESTS, base, asked=asked, **more)
    assert verdict.passed, verdict.reason
    return verdict


async def test_an_answer_to_another_task_is_seen_by_the_words(judge: Judge) -> None:
    verdict = await judge(SLUG, own=SLUG_TESTS, asked=ASKED)
    assert verdict.passed, verdict.reason
    assert verdict.unmet == ("the words of the task say add(1, 2) == 3; add is not defined anywhere",)
    assert verdict.evidence.notes[-1] == verdict.unmet[0]


async def test_an_example_that_the_change_answers_otherwise_is_told_with_its_answer(judge: Judge) -> None:
    verdict = await judge_change(judge, ASKED, "def add(a, b):\n    return 5 if a == 2 else 'x' * 200\n")
    assert verdict.unmet == (f"the words of the task say add(1, 2) == 3; the change gives '{'x' * 78}…",)


async def test_examples_that_hold_are_counted(judge: Judge) -> None:
    asked = f"{ASKED}\n\n>>> add(0, 0)\n0\n\n`add(0.1, 0.2)` returns `0.3`; add(1, 1.1416) == 2.14, "
    asked += "calc.add([1], []) == (1,)"
    verdict = await judge_change(judge, asked)
    assert verdict.unmet == ()
    assert verdict.evidence.notes == ("5 examples in the words of the task hold",)


async def test_what_the_base_answers_otherwise_and_the_words_ask_for_is_held_to(judge: Judge) -> None:
    base = {"calc.py": "def add(a, b):\n    return 4\n"}
    wrong = "def add(a, b):\n    return 5 if a == 2 else 4\n"
    verdict = await judge_change(judge, "add(1, 2) == 4, as of now; we want add(1, 2) == 3", wrong, base)
    assert verdict.unmet == ("the words of the task say add(1, 2) == 3; the change gives 4",)


@pytest.mark.parametrize(
    ("calc", "why"),
    [
        ("def add(a, b):\n    return a + b if a > 1 else open('/none').read()\n", "files are not there"),
        ("def add(a, b):\n    return a + b if a > 1 else object()\n", "an object may be equal to it"),
        ("add = int.__add__\n", "it is not clear what is called"),
    ],
)
async def test_where_an_answer_says_nothing_of_the_change_the_words_do_not_hold_it(
    judge: Judge, calc: str, why: str
) -> None:
    assert (await judge_change(judge, ASKED, calc)).unmet == (), why


async def test_where_the_words_say_two_things_of_a_call_one_of_them_will_do(judge: Judge) -> None:
    asked = "Write `add`; add(1, 2) == 4, add(1, 2) == 3"
    assert (await judge_change(judge, asked)).unmet == ()
    neither = await judge_change(judge, asked, "def add(a, b):\n    return 5\n")
    assert len(neither.unmet) == 2


async def test_a_function_that_two_files_define_is_called_by_the_name_of_its_module_alone(judge: Judge) -> None:
    change = {"shop/names.py": "def add(a, b):\n    return f'{a}{b}'\n", "calc.py": ADD}
    both = await judge(change, TESTS, asked="Write `add`; add(1, 2) == 3")
    assert both.unmet == ()
    named = await judge(change, TESTS, asked="Write `add`; names.add(1, 2) == 3, shop.names.add(3, 4) == '34'")
    assert named.unmet == ("the words of the task say names.add(1, 2) == 3; the change gives '12'",)


async def test_names_and_files_that_the_words_ask_for_have_to_be_there(judge: Judge) -> None:
    asked = (
        "Write `calc.py` with `add(a, b)`. Add a function `sub(a, b)`. Create the file `docs/use.md`. Implement `MUL`."
    )
    verdict = await judge_change(judge, asked)
    assert verdict.unmet == (
        "the words of the task ask for sub; sub is not defined anywhere",
        "the words of the task ask for MUL; it occurs nowhere",
        "the words of the task ask for the file docs/use.md; it is not there",
    )
    base = {"old.py": "def sub(a, b):\n    return a - b\n\n\nMUL = 1\n", "pages/use.md": "# Use\n"}
    assert (await judge_change(judge, asked, base=base)).unmet == ()
    gone = await judge({"calc.py": ADD, "old.py": None, "pages/use.md": None}, TESTS, base, asked=asked)
    assert gone.unmet == verdict.unmet


async def test_in_another_language_names_alone_are_looked_for(judge: Judge) -> None:
    tests = {
        "calc.test.js": "import test from 'node:test'\nimport assert from 'node:assert/strict'\n"
        "import { addAll } from './calc.js'\n\ntest('adds', () => { assert.equal(addAll([2, 3]), 5) })\n"
    }
    change = {
        "calc.js": "export function addAll(n) { return n.reduce((a, b) => a + b, 0) }\n",
        "package.json": '{"type": "module"}\n',
    }
    asked = "Write `add_all(numbers)` and `sub(a, b)` in `calc.js`; sub(3, 2) == 1, add_all([1]) == 2"
    verdict = await judge(change, tests, asked=asked, language=Language.JAVASCRIPT)
    assert verdict.passed, verdict.reason
    assert verdict.unmet == ("the words of the task say sub(3, 2) == 1; sub is not defined anywhere",)
