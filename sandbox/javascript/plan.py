"""Plans a run of node:test: what pytest's planner does, with other test files, no import paths and no settings."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace

from core.dependencies import ImportCache
from core.errors import SandboxError
from core.tasks import Files
from core.verdicts import SuiteJob
from sandbox.javascript import commands, suite
from sandbox.javascript.program import INSTALL, Node
from sandbox.javascript.suite import Around
from sandbox.plan import NodeRun, Plan, Planner
from sandbox.twins import Role, SuiteFile


def make(job: SuiteJob, imports: ImportCache, node: Node | None) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: what to judge.
        imports: remembers what files import.
        node: what runs the tests.

    Raises:
        SandboxError: there is no Node.js, or one too old for these tests.
    """
    if node is None:
        raise SandboxError(INSTALL)
    planner = _NodePlanner(job, imports)
    planned = planner.plan()
    for file in planned.files:
        if why := node.refusal(file.path):
            raise SandboxError(why)
    run = NodeRun(
        program=node.path, flags=node.flags, helper=planner.helper, shim=planner.shim, plain=dict(planner.texts)
    )
    return replace(planned, node=run)


class _NodePlanner(Planner):
    def __init__(self, job: SuiteJob, imports: ImportCache) -> None:
        self.helper = f"_{secrets.token_hex(4)}"
        self.shim = f"{secrets.token_hex(6)}.cjs"
        self.texts: dict[str, str] = {}
        super().__init__(job, imports)

    def _prepared(self, role: Role, tests: Files, beside: Files) -> Iterator[SuiteFile]:
        paths = self._entries.keys() | self._over.keys()
        around = Around(tests=beside, paths=paths, helper=self.helper, shim=self.shim)
        for path in suite.suite_paths(tests):
            found = suite.prepare(role, path, tests[path].replace("\r\n", "\n"), around)
            if found.plain:
                self.texts[found.file.staged] = found.plain
            yield found.file

    def _canary(self, folder: str) -> tuple[str, str, frozenset[str]]:
        return suite.canary(folder)

    def _is_mine(self, path: str) -> bool:
        return suite.is_suite(path)

    def _of_command(self) -> list[SuiteFile] | None:
        command = None if self._job.given else commands.parse(self._job.command, self._before)
        if command is None:
            return None
        return self._command_files(command.files(sorted(self._entries.keys() & self._present)), copied=True)

    def _conftests(self, _suites: Collection[str]) -> list[str]:
        return []

    def _options(self, _conftests: Collection[str]) -> tuple[str, ...]:
        return ()

    def _paths(self) -> tuple[str, ...]:
        return ()
