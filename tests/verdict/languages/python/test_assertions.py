from __future__ import annotations

import pytest

from nightshift.verdict.languages.python.assertions import checks_something


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
