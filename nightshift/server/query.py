"""Defines and validates query parameters of endpoints; the error for a wrong or unknown parameter names it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nightshift.core.clock import midnight, no_number, on_the_wall, utc_now
from nightshift.core.text import faults

MAX_ID = 2**63 - 1

Id = Annotated[int, Field(ge=1, le=MAX_ID)]
After = Annotated[int, Field(ge=0, le=MAX_ID)]
Time = Annotated[datetime, BeforeValidator(no_number), AfterValidator(on_the_wall)]
"""A time; without a time zone it is in the machine's."""
Bound = Literal["today"] | Time
"""A time, or `today`: the last midnight in the machine's time zone, so a link with `today` stays valid tomorrow."""


def moment(bound: Bound | None) -> datetime | None:
    """Return the time that a bound stands for."""
    return midnight(utc_now()) if bound == "today" else bound


class Query(BaseModel):
    """Base class of the parameters of an endpoint; has none itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ApprovalsQuery(Query):
    """Selection of questions."""

    open: bool = Field(False, description="only asks that a waiting task waits for")
    task: Id | None = Field(None, description="only asks of this task")


class LoginQuery(Query):
    """True if the last login failed."""

    wrong: bool = False


class BadQuery(ValueError):
    """Query parameters are wrong; `fields` gives the reason for each, up to a limit.

    `more` counts the faults left out.
    """

    def __init__(self, fields: dict[str, str]) -> None:
        self.fields = faults.limit_faults(fields)
        self.more = len(fields) - len(self.fields)
        faulty = [f"{name}: {why}" for name, why in self.fields.items()]
        super().__init__("; ".join(filter(None, [*faulty, faults.and_more(self.more)])))


_Q = TypeVar("_Q", bound=Query)


def read_query(model: type[_Q], query: str) -> _Q:
    """Validate a request's query string; a parameter without a value counts as not given.

    Raises:
        BadQuery: a parameter is unknown, given twice or has a wrong value.
    """
    values: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in values:
            raise BadQuery({name: "is given more than once"})
        values[name] = value
    try:
        values = {name: value for name, value in values.items() if value or name not in model.model_fields}
        return model.model_validate(values)
    except ValidationError as error:
        raise BadQuery(_faults(error, model)) from None


def _faults(error: ValidationError, model: type[Query]) -> dict[str, str]:
    names = ", ".join(model.model_fields) or "none"
    items = error.errors(include_url=False, include_input=False)
    return {
        str(item["loc"][0]): f"unknown parameter; known are: {names}"
        if item["type"] == "extra_forbidden"
        else item["msg"]
        for item in items
    }
