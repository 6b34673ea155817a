"""The cost of sending an order, in cents."""

FREE_FROM = 5_000
STANDARD = 490
EXPRESS = 990


def shipping(total: int, *, express: bool = False) -> int:
    """Orders of 50.00 and more are sent free; express always costs the difference."""
    cost = STANDARD
    if total > FREE_FROM:
        cost = 0
    if express:
        cost += EXPRESS - STANDARD
    return cost
