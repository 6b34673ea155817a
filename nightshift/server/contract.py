"""Lists all endpoints of the API in one table, from which routes, OpenAPI document and contract test are built."""

from __future__ import annotations

from nightshift.server.endpoint import Endpoint
from nightshift.server.routes import (
    approvals,
    brief,
    bulk,
    causes,
    commits,
    environments,
    forges,
    hub,
    logs,
    memory,
    reports,
    repositories,
    running,
    search,
    settings,
    steering,
    tasks,
    timeline,
    watching,
)

_MODULES = (
    brief, causes, tasks, bulk, timeline, approvals, commits, environments, forges, running, steering, search, watching,
    settings, repositories, logs, memory, reports, hub,
)  # fmt: skip
ENDPOINTS: tuple[Endpoint, ...] = (
    *(endpoint for module in _MODULES for endpoint in module.routes.endpoints),
    logs.STREAM,
    Endpoint(name="describe", method="GET", path="/api/openapi.json", summary="This document."),
)
