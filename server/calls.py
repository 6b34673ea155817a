"""One request and its answer, as the views of the API have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from server.desk import Desk
from server.query import Query
from server.schemas import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, with its parameters validated."""

    desk: Desk
    query: Query
    task_id: int = 0
    approval_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a view answers; the contract names the model of each status."""

    answer: Answer
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
