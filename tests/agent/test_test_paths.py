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
        ({"add.py": TWO}, {"tests/test_add.py": ""}, "tests/test_add_write_a_sum_please.py"),
        ({"sums.py": TWO}, {"tests/test_sums.py": ""}, "tests/test_sums_add.py"),
        ({"shop/cart.py": TWO}, {"shop/tests/test_x.py": "", "tests/test_y.py": ""}, "shop/tests/test_cart.py"),
        ({"shop/models.py": TWO}, {"shop/tests.py": "", "tests/test_y.py": ""}, "shop/test_models.py"),
        ({"data.sql": "x"}, {}, "tests/test_write_a_sum_please.py"),
    ],
)  # fmt: skip
def test_tests_are_named_for_the_module_and_lie_beside_others(
    change: dict[str, str | None], base: dict[str, str], path: str
) -> None:
    assert path_for(change, base) == path
    assert is_test_path(path)


def test_a_script_has_its_tests_in_a_script() -> None:
    change: dict[str, str | None] = {"lib/add.mjs": "export const add = (a, b) => a + b;\n"}
    assert path_for(change, language="javascript") == "tests/add.test.mjs"
    assert (
        path_for(change, {"tests/add.test.mjs": ""}, language="javascript") == "tests/add_write_a_sum_please.test.mjs"
    )


def test_tests_whose_place_newer_work_took_move_on() -> None:
    base = TextTree({"tests/test_a.py": "theirs", "b.test.mjs": "theirs"})
    own = {"tests/test_a.py": "mine", "b.test.mjs": "mine", "tests/test_c.py": "mine"}
    assert move_tests(own, base) == {"tests/test_a_2.py": "mine", "b_2.test.mjs": "mine", "tests/test_c.py": "mine"}
    assert all(map(is_test_path, move_tests(own, base)))
