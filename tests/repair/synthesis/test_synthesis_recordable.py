"""How tests are written anew, so that a recorder can follow what they ask."""

from __future__ import annotations

from repair.synthesis import recordable


def test_identity_with_single_values_becomes_equality() -> None:
    text = recordable("def test_a():\n    assert f(1) is True\n    assert f(2) is not None\n    assert a is b\n")
    assert "f(1) == True" in text
    assert "f(2) != None" in text
    assert "a is b" in text


def test_what_unittest_has_for_identity_becomes_equality() -> None:
    lines = (
        "self.assertIs(f(1), True)\nself.assertIsNone(f(2))\nself.assertCountEqual(f(3), [1])\nself.assertTrue(f(4))\n"
    )
    text = recordable(lines)
    for line in ("assertEqual(f(1), True)", "assertEqual(f(2), None)", "assertEqual(f(3), [1])", "assertTrue(f(4))"):
        assert f"self.{line}" in text


def test_imports_from_the_future_stay_first() -> None:
    text = recordable('"""Tests."""\nfrom __future__ import annotations\nx = 1\n')
    assert text.startswith("from __future__ import annotations\n")
    compile(text, "t", "exec")


def test_a_file_that_does_not_parse_stays_as_it_is() -> None:
    assert recordable("def f(:\n") == "def f(:\n"
