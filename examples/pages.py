"""Shows a long list page by page."""

from collections.abc import Sequence


def page_count(items: Sequence[str], size: int) -> int:
    """How many pages there are; the last one may be short."""
    return (len(items) + size - 1) // size


def page(items: Sequence[str], number: int, size: int) -> list[str]:
    """The items on a page; the first page is number 1."""
    start = number * size
    return list(items[start : start + size])
