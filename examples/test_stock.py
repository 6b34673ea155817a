"""Tests of a Stock."""

from examples.stock import Stock


def stock(**goods: int) -> Stock:
    """A stock with some goods."""
    shelf = Stock()
    for name, count in goods.items():
        shelf.put(name, count)
    return shelf


def test_put() -> None:
    """Goods add up."""
    shelf = stock(nuts=3)
    shelf.put("nuts", 4)
    assert shelf.goods == {"nuts": 7}


def test_take() -> None:
    """All may be taken, but no more."""
    shelf = stock(nuts=3)
    assert not shelf.take("nuts", 4)
    assert shelf.take("nuts", 3)
    assert shelf.goods == {"nuts": 0}


def test_move() -> None:
    """Goods that leave one stock arrive in the other."""
    here, there = stock(nuts=5), stock(nuts=1)
    assert here.move("nuts", 2, there)
    assert here.goods == {"nuts": 3}
    assert there.goods == {"nuts": 3}


def test_move_too_many() -> None:
    """Nothing moves."""
    here, there = stock(nuts=1), stock()
    assert not here.move("nuts", 2, there)
    assert here.goods == {"nuts": 1}
    assert there.goods == {}
