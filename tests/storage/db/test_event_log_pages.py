from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.events import Event, Kind, Level
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventFilter, EventLog, LogReader

COUNT = 60


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventLog]:
    """A log of sixty events, of which the first nine and some in the middle were pruned."""
    with Database(tmp_path_factory.mktemp("log") / "db.sqlite") as db:
        new_log = EventLog(db)
        for number in range(1, COUNT + 1):
            new_log.emit(
                Event(
                    kind=Kind.STUCK if number % 4 else Kind.PUSHED, level=list(Level)[number % 4],
                    message=f"number {number} {'odd' if number % 2 else 'even'}",
                    task_id=number % 5 or None, worker=f"w-{number % 3}",
                )
            )  # fmt: skip
        db.write(lambda conn: conn.execute("DELETE FROM execution_logs WHERE id < 10 OR id IN (30, 31, 32)")).result()
        yield new_log


filters = st.builds(
    EventFilter,
    level=st.none() | st.sampled_from(Level),
    task_id=st.none() | st.integers(1, 6),
    worker=st.none() | st.sampled_from(["w-0", "w-2", "nobody"]),
    kind=st.none() | st.sampled_from([Kind.PUSHED, Kind.STUCK]),
)
texts = st.none() | st.sampled_from(["odd", "even", "number 1", "", "nothing"])


def reader(log: EventLog, wanted: EventFilter, text: str | None, hurry: bool, span: int = 1000) -> LogReader:
    clock = count().__next__ if hurry else lambda: 0
    accepts = None if text is None else lambda message: text in message
    return LogReader(
        conn=log._db.reader(), wanted=wanted, accepts=accepts, wall_s=1, now=clock, span=span, text_span=span
    )


def passing(log: EventLog, wanted: EventFilter, text: str | None) -> list[int]:
    events = log.after(0, limit=COUNT, wanted=wanted)
    return [event.id for event in events if text is None or text in event.message]


@given(
    wanted=filters, text=texts, hurry=st.booleans(), span=st.integers(1, COUNT), start=st.integers(0, COUNT + 5),
    turns=st.lists(st.tuples(st.booleans(), st.integers(1, 25)), max_size=12),
)  # fmt: skip
def test_any_sequence_of_pages_gives_each_event_once(
    log: EventLog, wanted: EventFilter, text: str | None, hurry: bool, span: int, start: int,
    turns: list[tuple[bool, int]],
) -> None:  # fmt: skip
    """Check that the pages, read forwards and backwards in any order and of any length, leave no gap in the ids."""
    pages, expected = reader(log, wanted, text, hurry, span), passing(log, wanted, text)
    first, last, seen = min(start, COUNT) + 1, min(start, COUNT), list[int]()
    for back, limit in turns:
        page = pages.before(first, limit) if back else pages.after(last, limit)
        ids = [event.id for event in page.events]
        assert len(ids) <= limit
        if back:
            assert page.last_id == first - 1
            seen, first = [*ids, *seen], page.first_id
        else:
            assert page.first_id == last + 1
            seen, last = [*seen, *ids], page.last_id
        assert seen == [number for number in expected if first <= number <= last]
