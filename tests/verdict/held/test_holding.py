"""The choice of checks to hold out of tests, and the text of the tests without them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from nightshift.core.code import literals
from nightshift.core.tasks.held_out import Compare, HeldOut, ValueCase
from nightshift.core.tasks.submission import parse_spec
from nightshift.sandbox.source import Source
from nightshift.verdict.held.extract import spots
from nightshift.verdict.held.holding import hold, of_tests

TEXT = "Write it."


def cases_of(text: str) -> list[ValueCase]:
    return [spot.case for spot in spots("test_x.py", Source(textwrap.dedent(text)))]


def brief(text: str) -> list[tuple[str, str, str, str | None]]:
    return [(case.call, case.args, str(case.compare), case.expect) for case in cases_of(text)]


def read_held_of(text: str, share: float = 0.25, description: str = TEXT, path: str = "test_x.py") -> HeldOut:
    return of_tests({path: textwrap.dedent(text)}, description, share)


def hide(held: HeldOut) -> list[ValueCase]:
    return [case for case in held.cases if not case.shown]


@pytest.mark.parametrize(
    ("check", "case"),
    [
        ("assert 4 == f(2)", ("m:f", "(2,)", "equal", "4")),
        ("assert f(-2, [0] * 3) == {'a': (1, {2})}", ("m:f", "(-2, [0, 0, 0])", "equal", "{'a': (1, {2})}")),
        ("assert f(2) is None", ("m:f", "(2,)", "same", "None")),
        ("assert f(2)", ("m:f", "(2,)", "true", None)),
        ("assert not f('')", ("m:f", "('',)", "false", None)),
        ("assert f(2) == pytest.approx(0.1)", ("m:f", "(2,)", "near", "0.1")),
        ("assert math.isclose(f(2), 0.1)", ("m:f", "(2,)", "near", "0.1")),
        ("assert abs(f(2) - 0.1) < 1e-6", ("m:f", "(2,)", "within", "0.1")),
        ("assert m.f(2) == 4", ("m:f", "(2,)", "equal", "4")),
        ("assert Tool.make(2) == 4", ("m:Tool.make", "(2,)", "equal", "4")),
        ("with pytest.raises(ValueError):\n        f(2)", ("m:f", "(2,)", "raises", None)),
    ],
)
def test_a_check_is_read(check: str, case: tuple[str, str, str, str | None]) -> None:
    top = "import math\nimport m\nimport pytest\nfrom m import Tool, f\n\n"
    assert brief(f"{top}def test_a():\n    {check}\n") == [case]


@pytest.mark.parametrize(
    "check",
    [
        "assert f(x) == 4", "assert f(2) == g(2)", "assert f(2) != 4", "assert f(*[2]) == 4",
        "assert math.sqrt(4) == 2", "assert len(f(2)) == 4", "assert f(2)[0] == 4",
        "assert f(open('x')) == 4", "assert f(2) == 4 == 4",
    ],
)  # fmt: skip
def test_what_is_not_a_call_with_literals_is_left_to_the_tests(check: str) -> None:
    assert brief(f"import math\nfrom m import f\n\ndef test_a():\n    {check}\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "from m import f\n\n@pytest.fixture(autouse=True)\ndef set(): pass\n\ndef test_a():\n    assert f(2) == 4\n",
        "import os\nfrom m import f\n\nos.chdir('x')\n\ndef test_a():\n    assert f(2) == 4\n",
        "from m import f\n\ndef test_a(tmp_path):\n    assert f(2) == 4\n",
        "from m import f\n\n@mark\ndef test_a():\n    assert f(2) == 4\n",
        "from m import f\n\ndef test_a():\n    x.push(1)\n    assert f(2) == 4\n",
        "from m import f, size\n\ndef test_a():\n    assert size() == 0\n\ndef test_b():\n    assert f(2) == 4\n",
        "from m import f\n\ndef test_a():\n    assert f(2) == 4\n    assert f(2) == 5\n",
        "from m import f\n\ndef f(x): return x\n\ndef test_a():\n    assert f(2) == 4\n",
        "from m import f\n\nasync def test_a():\n    assert f(2) == 4\n",
    ],
)
def test_what_may_depend_on_more_than_inputs_is_left_to_the_tests(text: str) -> None:
    assert brief(text) == []


def test_a_quiet_beginning_of_a_file_sets_nothing_up() -> None:
    top = "import re\nimport sys\nfrom pathlib import Path\n\nHERE = Path(__file__)\nsys.path.insert(0, str(HERE))\n"
    text = f'"""Tests."""\n{top}WORD = re.compile("x")\nfrom m import f\n\ndef test_a():\n    assert f(2) == 4\n'
    assert brief(text) == [("m:f", "(2,)", "equal", "4")]
    assert brief(text.replace("WORD = re.compile", "WORD = f")) == []
    assert brief(text.replace("str(HERE)", "'lib'")) == []


def test_a_table_gives_a_case_for_each_row() -> None:
    rows = "[(1, 2, 3), pytest.param(4, 5, 9, id='big'), (N, 1, 2)]"
    table = (
        f"@pytest.mark.parametrize(('a', 'b', 'sum_'), {rows})\ndef test_a(a, b, sum_):\n    assert f(a, b) == sum_\n"
    )
    cases = cases_of(f"import pytest\nfrom m import f\n\n{table}")
    assert [(case.args, case.expect) for case in cases] == [("(1, 2)", "3"), ("(4, 5)", "9")]


@pytest.mark.parametrize(
    ("check", "compare"),
    [
        ("self.assertEqual(f(2), 4)", Compare.EQUAL), ("self.assertTrue(f(3))", Compare.TRUE),
        ("self.assertIsNone(f(4))", Compare.SAME), ("self.assertAlmostEqual(f(5), 0.5, places=3)", Compare.WITHIN),
        ("with self.assertRaises(KeyError):\n            f(6)", Compare.RAISES),
    ],
)  # fmt: skip
def test_unittest_checks_are_read(check: str, compare: Compare) -> None:
    head = "import unittest\nfrom m import f\n\nclass TestF(unittest.TestCase):\n    def test_a(self):\n"
    assert [case.compare for case in cases_of(f"{head}        {check}\n")] == [compare]


def test_the_function_that_a_helper_is_called_with_is_known() -> None:
    text = "from m import f\n\ndef check(candidate):\n    assert candidate(2) == 4\n\ndef test_f():\n    check(f)\n"
    assert brief(text) == [("m:f", "(2,)", "equal", "4")]
    assert brief(text + "    check(len)\n") == []


CHECKS = """
    # A file of checks.
    from m import f


    def test_a():
        assert f("ab") == "ba"
        # the next one is hard
        assert f("abc") == "cba"  # backwards
        assert f("xyz") == "zyx"


    def test_b():
        assert f("hello") == "olleh"


    def test_c():
        \"\"\"Words.\"\"\"
        assert f("words") == "sdrow"


    def test_d():
        assert f("") == ""
    """


def test_the_same_tests_always_hold_out_the_same() -> None:
    first, second = read_held_of(CHECKS), read_held_of(CHECKS)
    assert first == second
    assert len(hide(first)) == round(0.25 * 6)


def test_what_is_shown_is_valid_still_tests_and_says_nothing_of_what_is_missing() -> None:
    for share in (0.2, 0.35, 0.5, 0.9):
        held = read_held_of(CHECKS, share)
        (text,) = held.shown.values()
        ast.parse(text)
        assert "def test_d" in text  # the only test that expects an empty text is always shown
        for case in hide(held):
            (word,) = literals.read(case.args)
            assert f'"{word}"' not in text
            assert f'"{literals.read(case.expect or "")}"' not in text
        if '"abc"' not in text:
            assert "hard" not in text
            assert "backwards" not in text


TABLE = """
    import pytest
    from m import f


    @pytest.mark.parametrize(
        ("text", "back"),
        [
            ("ab", "ba"),
            ("abc", "cba"),  # three
            ("hello", "olleh"),
            ("words", "sdrow"),
        ],
    )
    def test_a(text, back):
        assert f(text) == back
    """


def test_rows_are_taken_out_of_tables() -> None:
    held = read_held_of(TABLE, 0.5)
    (text,) = held.shown.values()
    assert len(hide(held)) == len(cases_of(text)) == 2
    assert text.count('    ("') == 3  # the parameter names and two rows
    assert "three" not in text


LOOP = """
    from m import f


    def test_a():
        for text, back in [("ab", "ba"), ("abc", "cba"), ("hello", "olleh"), ("words", "sdrow")]:
            assert f(text) == back
        assert f("single") == "elgnis"
    """


def test_rows_are_taken_out_of_loops() -> None:
    for share in (0.25, 0.5, 0.9):
        held = read_held_of(LOOP, share)
        (text,) = held.shown.values()
        left = cases_of(text)
        assert len(left) == 5 - len(hide(held)) > 0
        assert "for text, back in [(" in text
        assert not {case.args for case in left} & {case.args for case in hide(held)}
    assert len(hide(read_held_of(LOOP, 0.9))) > 2


def test_few_checks_are_shown_whole() -> None:
    assert read_held_of("from m import f\n\ndef test_a():\n    assert f(1) == 1\n    assert f(2) == 4\n") == HeldOut()


def test_what_the_description_says_is_not_held_out() -> None:
    held = read_held_of(CHECKS, 0.9, "Reverse a text: f('abc'), f('xyz'), f(\"hello\") and f( \"words\" ) show how.")
    assert all("abc" in case.args or "ab" in case.args or "xyz" in case.args for case in hide(held))
    assert not any(word in case.args for case in hide(held) for word in ("hello", "words"))


def test_a_conftest_in_force_or_no_share_holds_out_nothing() -> None:
    spec = parse_spec({"description": TEXT, "tests": {"tests/test_x.py": textwrap.dedent(CHECKS)}})
    assert hold(spec, {"src/conftest.py": ""}, 0.25).shown
    assert hold(spec, {"tests/conftest.py": ""}, 0.25) == HeldOut()
    assert hold(spec, {"conftest.py": ""}, 0.25) == HeldOut()
    assert hold(spec, {}, 0.0) == HeldOut()


def test_explicit_cases_are_all_held_out() -> None:
    cases = [{"call": "m.f", "args": ["a"], "expect": "a"}]
    spec = parse_spec({"description": TEXT, "tests": {"test_x.py": textwrap.dedent(CHECKS)}, "cases": cases})
    held = hold(spec, {}, 0.25)
    assert held.cases[-1].explicit
    assert held.sources == ("tests", "cases")
    assert hold(spec, {}, 0).cases == spec.cases
