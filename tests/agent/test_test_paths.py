"""Paths of the agent's own tests: named after what they test, never overwriting another test."""

from __future__ import annotations

import pytest

from nightshift.agent.test_paths import move_tests, suggest
from nightshift.core.code.paths import is_test_path
from tests.support.agent_parts import Bench, case_for, model_for
from tests.support.trees import TextTree

TWO = "def add(a, b):\n    return a + b\n"


def path_for(change: dict[str, str | None], base: dict[str, str] | None = None, **fields: str) -> str:
    bench = Bench(model_for(), base=base or {})
    return suggest(case_for("Write a sum, please", **fields), bench.tools, change)


@pytest.mark.parametrize(
    ("change", "base", "path"),
    [
        ({"add.py": TWO}, {}, "tests/test_add.py"),
        ({"pkg/my-sums.py": TWO, "pkg/b.py": "x = 1\n"}, {}, "tests/test_my_sums.py"),
        ({"pkg/__init__.py": TWO}, {}, "tests/test_pkg.py"),
        ({"add.py": TWO}, {"tests/test_add.py": ""}, "tests/test_add_write_a_sum_please.py"),
        ({"sums.py": TWO}, {"tests/test_sums.py": ""}, "tests/test_sums_add.py"),
        (
            {"sums.py": TWO},
            {"other/test_sums.py": "", "tests/test_sums_add.py": ""},
            "tests/test_sums_write_a_sum_please.py",
        ),
        ({"shop/cart.py": TWO}, {"shop/tests/test_x.py": "", "tests/test_y.py": ""}, "shop/tests/test_cart.py"),
        ({"shop/cart.py": TWO}, {"test/test_x.py": ""}, "test/test_cart.py"),
        ({"shop/models.py": TWO}, {"shop/tests.py": "", "tests/test_y.py": ""}, "shop/test_models.py"),
        ({"data.sql": "x"}, {}, "tests/test_write_a_sum_please.py"),
        ({}, {}, "tests/test_write_a_sum_please.py"),
    ],
)  # fmt: skip
def test_tests_are_named_for_the_module_and_lie_beside_others(
    change: dict[str, str | None], base: dict[str, str], path: str
) -> None:
    assert path_for(change, base) == path
    assert is_test_path(path)


def test_a_long_name_is_cut_between_words() -> None:
    bench = Bench(model_for())
    case = case_for("fahrenheit_to_celsius(212) must be 100, and not 194")
    assert suggest(case, bench.tools, {}) == "tests/test_fahrenheit_to_celsius_212_must.py"


def test_a_script_has_its_tests_in_a_script() -> None:
    change: dict[str, str | None] = {"lib/add.mjs": "export const add = (a, b) => a + b;\n"}
    assert path_for(change, language="javascript") == "tests/add.test.mjs"
    assert (
        path_for(change, {"tests/add.test.mjs": ""}, language="javascript") == "tests/add_write_a_sum_please.test.mjs"
    )


def test_a_name_is_found_however_many_are_taken() -> None:
    taken = {f"tests/test_sums{more}.py": "" for more in ("", "_add", "_write_a_sum_please")}
    assert path_for({"sums.py": TWO}, taken) == "tests/test_sums_write_a_sum_please_2.py"


def test_tests_whose_place_newer_work_took_move_on() -> None:
    base = TextTree({"tests/test_a.py": "theirs", "b.test.mjs": "theirs"})
    own = {"tests/test_a.py": "mine", "b.test.mjs": "mine", "tests/test_c.py": "mine"}
    assert move_tests(own, base) == {"tests/test_a_2.py": "mine", "b_2.test.mjs": "mine", "tests/test_c.py": "mine"}
    assert all(map(is_test_path, move_tests(own, base)))
