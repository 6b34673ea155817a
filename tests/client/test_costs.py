"""A cost that is not known is never shown as a number."""

from __future__ import annotations

import pytest

from client.views import cost_text


@pytest.mark.parametrize(
    ("known", "unpriced", "shown"),
    [(0.0, 0, "0.0000"), (1.23456, 0, "1.2346"), (0.0, 3, "unknown"), (0.5, 1, "0.5000 + unknown")],
)
def test_what_is_known_and_what_is_not_are_told_apart(known: float, unpriced: int, shown: str) -> None:
    assert cost_text(known, unpriced) == shown
