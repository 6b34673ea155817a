from __future__ import annotations

import pytest

from verdict.fails_before import checks_something, surely_red


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    assert f(1) == 2\n",
        "def test_a(self):\n    self.assertEqual(1, 1)\n",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def broken(:",
    ],
)
def test_a_file_with_an_assertion_checks_something(text: str) -> None:
    assert checks_something(text)


@pytest.mark.parametrize("text", ["", "def test_a():\n    f(1)\n", "def test_a():\n    assert True\n"])
def test_a_file_without_one_does_not(text: str) -> None:
    assert not checks_something(text)


@pytest.mark.parametrize(
    ("imported", "change", "present", "red"),
    [
        ("from new import f", {"new.py": ""}, set(), True),
        ("import new.deep", {"new/deep.py": ""}, set(), True),
        ("from new import f", {"src/new.py": ""}, set(), True),
        ("from app import new", {"app/new.py": ""}, {"app/old.py"}, False),
        ("from new import f", {"new.py": ""}, {"new.py"}, False),
        ("from json import f", {"json.py": ""}, set(), False),
        ("try:\n    from new import f\nexcept ImportError:\n    pass", {"new.py": ""}, set(), False),
        ("def test_a():\n    from new import f", {"new.py": ""}, set(), False),
    ],
)
def test_a_missing_module_makes_tests_surely_red(
    imported: str, change: dict[str, str | None], present: set[str], red: bool
) -> None:
    assert surely_red({"test_a.py": imported + "\n"}, change, present) is red
