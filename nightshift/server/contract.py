"""Lists all endpoints of the API in one table, from which routes, OpenAPI document and contract test are built."""

from __future__ import annotations

from nightshift.server.endpoint import Endpoint
from nightshift.server.routes import (
    approvals,
    brief,
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

ENDPOINTS: tuple[Endpoint, ...] = (
    *brief.routes.endpoints,
    *tasks.routes.endpoints,
    *timeline.routes.endpoints,
    *approvals.routes.endpoints,
    *commits.routes.endpoints,
    *environments.routes.endpoints,
    *forges.routes.endpoints,
    *running.routes.endpoints,
    *steering.routes.endpoints,
    *search.routes.endpoints,
    *watching.routes.endpoints,
    *settings.routes.endpoints,
    *repositories.routes.endpoints,
    *logs.routes.endpoints,
    *logs.NATIVE,
    *memory.routes.endpoints,
    *reports.routes.endpoints,
    *hub.routes.endpoints,
    Endpoint(name="describe", method="GET", path="/api/openapi.json", summary="This document."),
)
