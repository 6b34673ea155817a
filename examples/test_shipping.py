"""Tests of shipping()."""

from examples.shipping import shipping


def test_small_orders_pay() -> None:
    """Just below the limit."""
    assert shipping(4_999) == 490


def test_large_orders_are_free() -> None:
    """From the limit on."""
    assert shipping(5_000) == 0
    assert shipping(12_000) == 0


def test_express() -> None:
    """It costs its full price, or only the difference."""
    assert shipping(1_000, express=True) == 990
    assert shipping(5_000, express=True) == 500
