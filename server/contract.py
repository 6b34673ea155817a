"""The API as one table: the routes, the OpenAPI document and the contract test are all made from it."""

from __future__ import annotations

from server.endpoint import Endpoint
from server.routes import (
    approvals,
    commits,
    logs,
    memory,
    notices,
    reports,
    running,
    settings,
    steering,
    tasks,
    timeline,
    watching,
)

ENDPOINTS: tuple[Endpoint, ...] = (
    *tasks.ENDPOINTS,
    *timeline.ENDPOINTS,
    *approvals.ENDPOINTS,
    *commits.ENDPOINTS,
    *running.ENDPOINTS,
    *steering.ENDPOINTS,
    *watching.ENDPOINTS,
    *settings.ENDPOINTS,
    *notices.ENDPOINTS,
    *logs.ENDPOINTS,
    *memory.ENDPOINTS,
    *reports.ENDPOINTS,
    Endpoint(name="describe", method="GET", path="/api/openapi.json", summary="This document."),
)
