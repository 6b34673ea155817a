"""The services of a runtime for a run: how the trusted parent starts them, and how they increase the limits."""

from __future__ import annotations

from dataclasses import asdict, replace

from nightshift.core.isolation import SandboxLimits
from nightshift.sandbox.runtime import Runtime

PROCESSES = 64
"""Maximum number of processes of a service. It is added to the maximum number of processes of the tests."""


def describe(runtime: Runtime) -> dict[str, object]:
    """Return the descriptions of the services for the trusted parent, as JSON values."""
    return {"services": [asdict(service) for service in runtime.services], "variables": runtime.of_services}


def limit(limits: SandboxLimits, runtime: Runtime) -> SandboxLimits:
    """Return the limits of a run, increased by what its services may use."""
    if not runtime.services:
        return limits
    starting_s = sum(service.prepare_s + service.start_s for service in runtime.services)
    memory_mb = sum(service.memory_mb for service in runtime.services)
    return replace(
        limits,
        cpu_s=limits.cpu_s + max(1.0, limits.cpus) * starting_s,
        wall_s=limits.wall_s + starting_s,
        pids=limits.pids + PROCESSES * len(runtime.services),
        memory_mb=limits.memory_mb + memory_mb,
        tmp_mb=limits.tmp_mb + memory_mb,
    )
