"""Counts what lies in a warehouse."""


class Stock:
    """Goods and how many there are."""

    def __init__(self) -> None:
        self.goods: dict[str, int] = {}

    def put(self, name: str, count: int) -> None:
        """Some more of these."""
        self.goods[name] = self.goods.get(name, 0) + count

    def take(self, name: str, count: int) -> bool:
        """Take some out; false where there are too few."""
        if self.goods.get(name, 0) < count:
            return False
        self.goods[name] -= count
        return True

    def move(self, name: str, count: int, other: "Stock") -> bool:
        """Move some to another warehouse; false where there are too few."""
        if other is self or not self.take(name, count):
            return False
        self.put(name, count)
        return True
