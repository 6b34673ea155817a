"""Tests that the agent wrote and that check nothing of the task's request."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.findings.hollow import describe_hollow
from tests.support.trees import TextTree

HEAD = "import math\n\nimport shop\nfrom shop import total\nfrom tests.helpers import prices, same\n\n\n"
HELPERS = "def same(a, b):\n    _eq(a, b)\n\n\ndef _eq(a, b):\n    assert a == b\n\n\ndef prices():\n    pass\n"
IMPORTS = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
NODE = f"{IMPORTS}import {{ total }} from '../shop.mjs';\n"
SNAPSHOT = "file = Path(__file__).with_name('a')\n    if not file.exists():\n        file.write_text('1')\n"
SNAPSHOT += "    assert str(total([1])) == file.read_text()"
SWALLOWS = "try:\n        assert total([1]) == 1\n    except (OSError, Exception):\n        pass"
TYPES, CALLS, STUB, WRITES = "compare no value", "calls total", "a stub in the place of total", "write what they expect"


def job(path: str, language: Language) -> SuiteJob:
    return SuiteJob(
        base=TextTree({"shop.py": "def total(x):\n    assert x == 1\n", "tests/helpers.py": HELPERS}),
        change={path: "import money\n"}, language=language, asked="Add `total(prices)`: their sum.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("assert total([1, 2]) == 3", ""), ("assert isinstance(total([1]), int) and total([1]) is not None", TYPES),
        ("total([1])", TYPES), ("assert total([1]) == total([1])", TYPES),
        ("total([1])\n    assert Cart([1]) == Cart([1])", ""), ("assert (total([1]) == 1, 'message')", TYPES),
        (SWALLOWS, TYPES), (SWALLOWS.replace("pass", "raise"), ""),
        (SWALLOWS.replace("== 1", "== 1\n        return"), ""),
        ("with suppress(Exception):\n        assert total([1]) == 1", TYPES),
        ("pass\n\n\n@mark.parametrize('a, b', [])\ndef test_b(a, b):\n    assert total(a) == b", TYPES),
        ("with pytest.raises(NotImplementedError):\n        total([1])", TYPES),
        ("assert 'total' in open('shop.py').read()", CALLS),
        ("with patch('shop.total', return_value=3):\n        assert total([1]) == 3", STUB),
        ("with patch('shop.fetch', return_value=3):\n        assert total([1]) == 3", ""), (SNAPSHOT, WRITES),
        ("same(total([1]), 1)", ""), ("total(prices())", TYPES),
        ("with patch('shop.Cart.total', return_value=3):\n        assert total([1]) == 3", STUB),
        ("monkeypatch.setattr(shop, 'total', max)\n    assert total([1]) == 3", STUB),
        ("with patch('shop.money.total', return_value=3), patch('os.total'):\n        assert total([1]) == 3", ""),
        ("monkeypatch.setattr(math, 'total', max)\n    assert total([1]) == 3", ""),
    ],
)  # fmt: skip
def test_a_test_of_python_says_something_where_it_compares_a_value_of_what_was_asked_for(body: str, why: str) -> None:
    reason = describe_hollow(job("shop.py", Language.PYTHON), {"test_shop.py": f"{HEAD}def test_a():\n    {body}\n"})
    assert (why in reason, bool(reason)) == (True, bool(why))


def test_a_test_of_javascript_likewise() -> None:
    for head, check, why in (
        (NODE, "assert.equal(total([1, 2]), 3)", ""),
        (NODE, "assert.throws(() => total([1]), /not implemented/)", TYPES),
        (IMPORTS, "assert.equal(readFileSync('shop.mjs', 'utf8'), 'export function total')", CALLS),
    ):
        tests = {"test/shop.test.mjs": f"{head}test('a', () => {{\n  {check};\n}});\n"}
        reason = describe_hollow(job("shop.mjs", Language.JAVASCRIPT), tests)
        assert (why in reason, bool(reason)) == (True, bool(why))


def test_where_the_words_name_nothing_a_test_has_to_import_the_code() -> None:
    asked = SuiteJob(base=TextTree({}), change={"shop.py": "x = 1\n"}, asked="Make it better")
    assert describe_hollow(asked, {"test_a.py": "def test_a():\n    assert 1 + 1 == 2\n"}).endswith("of the code")
    page = SuiteJob(base=TextTree({}), change={"web/index.html": "<p>"}, asked="Make it better")
    assert not describe_hollow(
        page, {"test_a.py": "def test_a():\n    assert open('web/index.html').read() == '<p>'\n"}
    )
    assert not describe_hollow(asked, {"test_a.py": "import shop\n\n\ndef test_a():\n    assert shop.x == 1\n"})
