"""Costs as they are shown: a sum that is not known is never shown as one."""

from __future__ import annotations


def cost_text(cost_usd: float, unpriced: int) -> str:
    """A cost in USD.

    Args:
        cost_usd: what is known of it.
        unpriced: how many calls, whose price is not set, are not in it.
    """
    if not unpriced:
        return f"{cost_usd:.4f}"
    return f"{cost_usd:.4f} + unknown" if cost_usd else "unknown"
