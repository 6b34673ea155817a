"""Defines and validates the query parameters of endpoints. An error names the parameter that is wrong or unknown."""

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
"""A time. A time without a time zone is in the machine's time zone."""
Bound = Literal["today"] | Time
"""A time, or `today` (the last midnight in the machine's time zone). A link with `today` stays current."""


def moment(bound: Bound | None) -> datetime | None:
    """Return a bound as a time: `today` becomes the last midnight; a time stays unchanged."""
    return midnight(utc_now()) if bound == "today" else bound


class Query(BaseModel):
    """Base class for the query parameters of an endpoint. An endpoint without parameters uses this class."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LoginQuery(Query):
    """Parameters of the login page. `wrong` is true if the token that was just sent is wrong."""

    wrong: bool = False


class BadQuery(ValueError):
    """Error for wrong query parameters.

    `fields` gives the reason for each wrong parameter, up to a limit. `more` counts the wrong parameters above the
    limit.
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
