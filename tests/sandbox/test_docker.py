from __future__ import annotations

from sandbox import selftest
from tests.support.sandboxes import docker, runtime


async def test_the_engine_passes_the_self_test() -> None:
    found = await selftest.probe(docker(), runtime())
    assert found.passed, found.report
