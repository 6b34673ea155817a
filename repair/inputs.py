"""New inputs for a function from those that were seen: alike in kind and size, and within what all of them keep to.

A function may demand more of its inputs than their types say (sorted, distinct, not negative, not empty). What holds
for every input that was seen at a place is kept, because an input that the function was never meant for tells nothing.

Values stay packed (`repair.evaluation.Call`); nothing of the tested code is needed, or run, to make them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from repair.evaluation import Call

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST_ITEMS = 12


def further(calls: Sequence[Call], count: int) -> list[Call]:
    """Up to `count` calls that were not seen, of the same function; the same ones every time.

    Args:
        calls: those that were seen, all of one function.
        count: how many to make at most.
    """
    shapes = {(len(_items(call.args)), json.dumps(call.kwargs)) for call in calls}
    made = dict[str, Call]()
    known = {json.dumps(call.args) for call in calls}
    for width, kwargs in sorted(shapes):
        alike = [call for call in calls if len(_items(call.args)) == width and json.dumps(call.kwargs) == kwargs]
        columns = [[_items(call.args)[index] for call in alike] for index in range(width)]
        if not columns:
            continue
        tag = alike[0].args[0]  # type: ignore[index] # a packed sequence begins with its type
        for row in _drawn(_row(columns), 3 * count):
            args = [tag, *row]
            if (text := json.dumps(args)) not in known:
                made.setdefault(text, Call(path=alike[0].path, scope=alike[0].scope, args=args, kwargs=alike[0].kwargs))
    return list(made.values())[:count]


def _drawn(strategy: SearchStrategy[list[Any]], count: int) -> list[list[Any]]:
    """What a strategy gives, the same every time."""
    from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415 - slow to import, rarely needed

    rows = list[list[Any]]()

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(row: list[Any]) -> None:
        rows.append(row)

    collect()
    return rows


def _row(columns: Sequence[Sequence[Any]]) -> SearchStrategy[list[Any]]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    return st.tuples(*map(_like, columns)).map(list)


def _like(samples: Sequence[Any]) -> SearchStrategy[Any]:
    """Values like the samples."""
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    makers: dict[str, Callable[[Sequence[Any]], SearchStrategy[Any]]] = {
        "i": _integers, "f": _floats, "str": _texts, "l": _sequences, "t": _tuples, "bool": lambda _: st.booleans(),
    }  # fmt: skip
    found = list[Any]()
    for tag in dict.fromkeys(map(_tag, samples)):
        of_tag = [sample for sample in samples if _tag(sample) == tag]
        make = makers.get(tag)
        found.append(make(of_tag) if make else st.sampled_from(of_tag))
    return st.one_of(found)


def _integers(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    numbers = [int(sample[1], 16) for sample in samples]
    low, high = min(numbers), max(numbers)
    low = low if 0 <= low <= 1 else low - 2
    return st.integers(low, high + 3).map(lambda number: ["i", hex(number)])


def _floats(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    numbers = [float.fromhex(sample[1]) for sample in samples]
    finite = [number for number in numbers if abs(number) < 1e300] or [0.0]
    scaled = st.integers(int(min(finite) * 4), int(max(finite) * 4) + 4).map(lambda number: ["f", (number / 4).hex()])
    return st.one_of(scaled, st.sampled_from(list(samples)))


def _texts(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    letters = sorted(set("".join(samples))) or ["a"]
    least = int(all(samples))
    most = max(map(len, samples)) + 2
    free = st.text(st.sampled_from(letters), min_size=least, max_size=min(40, most))
    return st.one_of(free, st.sampled_from(list(samples)))


def _sequences(samples: Sequence[Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    bodies = [_items(sample) for sample in samples]
    inner = [item for body in bodies for item in body]
    if not inner:
        return st.sampled_from(list(samples))
    least, most = int(all(bodies)), max(map(len, bodies)) + 2
    unique = json.dumps if all(_is_distinct(body) for body in bodies) else None
    lists = st.lists(_like(inner), min_size=least, max_size=min(MOST_ITEMS, most), unique_by=unique)
    tag = samples[0][0]
    if all(body == _sorted(body) for body in bodies):
        return lists.map(lambda body: [tag, *_sorted(body)])
    return lists.map(lambda body: [tag, *body])


def _tuples(samples: Sequence[Any]) -> SearchStrategy[Any]:
    """Tuples keep their length; those of many lengths are sequences."""
    from hypothesis import strategies as st  # noqa: PLC0415 - see `_drawn`

    widths = {len(sample) for sample in samples}
    if len(widths) > 1:
        return _sequences(samples)
    columns = list(zip(*(_items(sample) for sample in samples), strict=True))
    return _row(columns).map(lambda row: ["t", *row]) if columns else st.just(["t"])


def _tag(packed: Any) -> str:
    if isinstance(packed, list):
        return str(packed[0])
    return "None" if packed is None else type(packed).__name__


def _items(packed: Any) -> list[Any]:
    return list(packed[1:]) if isinstance(packed, list) else []


def _is_distinct(body: Iterable[Any]) -> bool:
    texts = [json.dumps(item) for item in body]
    return len(set(texts)) == len(texts)


def _sorted(body: list[Any]) -> list[Any]:
    """Numbers or texts in their order; anything else as it is."""
    tags = {_tag(item) for item in body}
    if tags == {"i"}:
        return sorted(body, key=lambda item: int(item[1], 16))
    if tags == {"f"}:
        return sorted(body, key=lambda item: float.fromhex(item[1]))
    return sorted(body) if tags == {"str"} else body
