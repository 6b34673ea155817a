"""Answers of the API: the fields that they copy from values, and how a dataclass is serialised and described."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Status
from nightshift.server.openapi import document
from nightshift.server.schemas import Answer, adapter, as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    at: Moment | None = None
    counts: dict[Status, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    id: int
    name: str = "x"
    inner: Inner = field(default_factory=Inner)


class Row(Answer):
    """An API answer whose fields are copied from one or two values."""

    name: str
    number: int
    inner: Inner


NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def test_the_first_value_that_has_a_field_counts() -> None:
    assert Row.from_values(Value(id=1, name="first"), Value(id=2, name="second"), number=0).name == "first"
    assert Row.from_values(Inner(), Value(id=2, name="second"), number=0).name == "second"


def test_a_dataclass_is_sent_whole_with_times_as_everywhere_and_is_read_again() -> None:
    value = Value(id=1, inner=Inner(at=NOON, counts={Status.DONE: 2}))
    sent = as_json(value)
    assert sent == '{"id":1,"name":"x","inner":{"at":"2026-11-02T12:00:00.000000Z","counts":{"done":2}}}'
    assert adapter(Value).validate_json(sent) == value


def test_the_description_of_a_dataclass_demands_all_its_fields_and_no_others() -> None:
    schemas = document("1")["components"]["schemas"]
    for name in ("DaemonStatus", "WorkerStatus", "Reverted"):
        assert sorted(schemas[name]["required"]) == sorted(schemas[name]["properties"])
        assert schemas[name]["additionalProperties"] is False
