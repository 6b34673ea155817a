"""The API as one table: the routes, the OpenAPI document and the contract test are all made from it."""

from __future__ import annotations

from server.areas import approvals, commits, logs, running, steering, tasks
from server.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *tasks.ENDPOINTS,
    *approvals.ENDPOINTS,
    *commits.ENDPOINTS,
    *running.ENDPOINTS,
    *steering.ENDPOINTS,
    *logs.ENDPOINTS,
    Endpoint(name="describe", method="GET", path="/api/openapi.json", summary="This document."),
)
