"""Serves the environments built for repositories: their contents, and what was left out of them."""

from __future__ import annotations

from nightshift.core.clock import Moment
from nightshift.core.text.masking import printable
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.schemas import Answer

routes = Routes()


class EnvironmentRow(Answer):
    """A built part of an environment. All repositories with the same declaration share it.

    `kind` is the kind of the part. `sources` are the files that first declared it. `packages` maps its packages to
    versions. `services` are the services that are started for tests. `remarks` say what was left out, and why.
    """

    name: str
    kind: str
    interpreter: str
    sources: list[str]
    packages: dict[str, str]
    remarks: list[str]
    services: list[str]
    used_at: Moment
    size_bytes: int


class KeptEnvironments(Answer):
    """All stored environments, most recently used first. `size_bytes` is their total size."""

    environments: list[EnvironmentRow]
    size_bytes: int


@routes.endpoint("GET", "/api/environments")
def list_environments(context: AppContext) -> KeptEnvironments:
    """List the environments that were built from the declarations of repositories."""
    rows = [
        EnvironmentRow.from_values(
            environment,
            sources=[printable(path) for path in environment.sources],
            packages={printable(name): printable(version) for name, version in environment.packages.items()},
            remarks=[printable(remark) for remark in environment.remarks],
            services=list(environment.services),
        )
        for environment in context.environments()
    ]
    return KeptEnvironments(environments=rows, size_bytes=sum(row.size_bytes for row in rows))
