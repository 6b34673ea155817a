"""Finds containers that grow, by measuring every container that is reachable from an object through our own classes."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OURS = frozenset({"nightshift", "nightshift_engine", "tests"})
LOOKED_INTO = 30
"""Number of values of each container that the search follows. A few are enough, because all values grow alike."""
_PLAIN = (str, bytes, bytearray, int, float, type(None), Path, type)


def lengths(root: object) -> dict[str, int]:
    """Return the length of each container, keyed by the first path of attributes by which the search reached it."""
    sizes: dict[str, int] = {}
    seen, waiting = set[int](), deque([("", root)])
    references: list[object] = []  # keeps objects alive: the id of a freed object may be reused
    while waiting:
        path, item = waiting.popleft()
        if id(item) in seen or isinstance(item, _PLAIN):
            continue
        seen.add(id(item))
        references.append(item)
        if isinstance(item, Mapping | list | set | frozenset | tuple | deque):
            sizes[path] = len(item)
        waiting.extend((f"{path}{step}", value) for step, value in _parts(item))
    return sizes


def _parts(item: object) -> Iterator[tuple[str, Any]]:
    if isinstance(item, Mapping):
        yield from (("[]", value) for value in [*item.values()][:LOOKED_INTO])
    elif isinstance(item, list | tuple | set | frozenset | deque):
        yield from (("[]", value) for value in [*item][:LOOKED_INTO])
    elif isinstance(item, MethodType):
        yield "", item.__self__
    elif isinstance(item, FunctionType) and item.__closure__:
        yield from (("()", cell.cell_contents) for cell in item.__closure__ if _is_filled(cell))
    elif type(item).__module__.partition(".")[0] in OURS:
        yield from ((f".{name}", value) for name, value in _attributes(item))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _attributes(item: object) -> Iterator[tuple[str, Any]]:
    names: Collection[str] = [*getattr(item, "__dict__", ())]
    slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in (*names, *slots):
        if hasattr(item, name):
            yield name, getattr(item, name)
