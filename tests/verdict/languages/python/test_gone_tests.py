"""Tests are about removed code if they use a removed module or name, directly or through helpers."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.task import Change
from nightshift.verdict.languages.python.gone_tests import about_gone

BASE = {"cart.py": "def total(x):\n    return x\n\n\ndef tax(x):\n    return x\n", "shop/old.py": "A = 1\n"}
LEFT = BASE["cart.py"].partition("\n\n\n")[0]
HELPED = "import cart\n\n\ndef made():\n    return cart.total(1)\n\n\n"
IN_CLASS = (
    "import cart\n\n\nclass TestCart:\n    def setup_method(self):\n        self.c = cart.total(1)\n\n"
    "    def test_a(self):\n        assert self.c\n\n\ndef test_b():\n    assert 1\n"
)
TWO = "def test_a():\n    assert {}\n\n\ndef test_b():\n    assert 1\n"


@pytest.mark.parametrize(
    ("text", "change", "names"),
    [
        ("import cart as c\n" + TWO.format("c.total(1)"), {"cart.py": None}, {"test_a"}),
        ("import shop.old, shop.new\n" + TWO.format("shop.old.A"), {"shop/old.py": None}, {"test_a"}),
        ("import shop.old, shop.new\n" + TWO.format("shop.new.A"), {"shop/old.py": None}, set()),
        ("from shop.old import A\n" + TWO.format("A"), {"src/shop/old.py": None}, {"test_a"}),
        ("from cart import tax, total\n" + TWO.format("tax(1)"), {"cart.py": LEFT}, {"test_a"}),
        (HELPED + TWO.format("made()"), {"cart.py": None}, {"test_a"}),
        (IN_CLASS, {"cart.py": None}, {"TestCart::test_a"}),
        ("from cart import total\n" + TWO.format("total(1)"), {"cart.py": BASE["cart.py"] + "B = 1\n"}, None),
        ("not python(", {"cart.py": None}, None),
    ],
)  # fmt: skip
def test_what_uses_what_is_gone_is_about_it(text: str, change: Change, names: set[str] | None) -> None:
    assert about_gone(text, change, BASE.get) == names
