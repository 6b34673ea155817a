"""An item's statement: the text of its commit, with the names that its tests use, and without the answer."""

import pytest

from nightshift.report.benchmark.statement import missing_name, write_statement

AFTER = {
    "shop/price.py": (
        "RATE = 2\n\n\ndef net(total: float, *, rate: float = 0.1) -> float:\n    return total * rate\n\n\n"
        "class Cart(dict):\n    def __init__(self) -> None:\n        self.shelf = 1\n\n"
        "    async def total(self) -> int:\n        return compute_total_net_price_fast()\n"
    )
}


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("ImportError: cannot import name 'net' from 'shop.price' (/x.py)", "net"),
        ("AttributeError: 'Cart' object has no attribute 'shelf'", "shelf"),
        ("TypeError: net() got an unexpected keyword argument 'rate'", "rate"),
        ("TypeError: cart.total is not a function", "total"),
        ("undefined: shop.Net", "Net"),
        ("assert 6 == 5", None),
    ],
)
def test_a_failure_may_say_no_more_than_that_a_name_is_missing(message: str, name: str | None) -> None:
    assert missing_name(message) == name


def test_names_that_the_words_leave_out_are_told_with_their_signatures() -> None:
    missed = {"net", "rate", "Cart", "total", "RATE", "shelf", "price", "ghost"}
    statement = write_statement("Give the Cart a total", AFTER, {}, [], missed)
    assert statement.text == (
        "Give the Cart a total\n\nNames that are expected:\n"
        "- `RATE` in `shop/price.py`\n"
        "- `def net(total: float, *, rate: float=0.1) -> float` in `shop/price.py`\n"
        "- the module `shop/price.py`\n"
        "- `def net(total: float, *, rate: float=0.1) -> float` in `shop/price.py`\n"
        "- the attribute `shelf` in the class `Cart`, `shop/price.py`\n"
        "- `async def total(self) -> int` in the class `Cart`, `shop/price.py`"
    )
    assert statement.unnamed == {"ghost"}


@pytest.mark.parametrize(
    ("words", "is_mentioned"),
    [("Mind the network", False), ("The net is new", False), ("Add `net`", True), ("Add net()", True)],
)
def test_an_ordinary_word_is_only_said_where_it_looks_like_code(words: str, is_mentioned: bool) -> None:
    assert ("def net" in write_statement(words, AFTER, {}, [], {"net"}).text) is not is_mentioned


def test_sentences_that_give_the_change_away_are_left_out() -> None:
    words = "Make it fast\n\nUse compute_total_net_price_fast. It was slow before."
    statement = write_statement(words, AFTER, {}, [], set())
    assert statement.text == "Make it fast\n\nIt was slow before."
    assert statement.leaked == ("compute_total_net_price_fast",)
