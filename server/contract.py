"""The API as one table: the routes, the OpenAPI document and the contract test are all made from it."""

from __future__ import annotations

from server.areas import (
    approvals,
    commits,
    logs,
    memory,
    notices,
    reports,
    running,
    settings,
    steering,
    task_course,
    tasks,
    watching,
)
from server.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *tasks.ENDPOINTS,
    *task_course.ENDPOINTS,
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
