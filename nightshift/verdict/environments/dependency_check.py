"""Installs the packages that a change needs and the owner allows, asks the owner about others, or refuses them.

The owner allows a package by naming it in the settings or with the task, or by granting a question. Allowed packages
are installed from wheels into a folder that is mounted read-only in runs. Any other package becomes a question to the
owner, with the file that imports it and its description in the package index. A package that the index does not have is
a mistake of the model and is reported to the model. Files that the owner wrote are trusted: if such a file imports a
module that is in no table of known packages, nothing is asked, because the task is probably to write that module.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.paths import top_module
from nightshift.core.code.tree import list_submodules
from nightshift.core.errors import Parked, SandboxError
from nightshift.core.events import Emitter, Kind
from nightshift.core.ports import Sink
from nightshift.core.tasks.change_checks import (
    Ask,
    AskKind,
    ChangeCheckJob,
    ChangeCheckReport,
    Finding,
    Severity,
    package_subject,
)
from nightshift.sandbox import launcher
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.distributions import Requirement, is_declaration, normalise, requirement
from nightshift.verdict.environments.layers import Layer, LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.missing_modules import ImportMemory, MissingModule
from nightshift.verdict.environments.requirements import PackageSurvey, WantedPackage
from nightshift.verdict.environments.wheels import Unobtainable, Unreachable, Wheel

LOOK_AGAIN = timedelta(minutes=5)
REMEMBERED = 256
DENIED, UNKNOWN, UNCLEAR, NO_NPM = "package.denied", "package.unknown", "package.unclear", "package.npm"
_STDLIB = "import json, sys; print(json.dumps(sorted(sys.stdlib_module_names)))"


class DependencyCheck:
    """Checks the packages of any number of changes concurrently.

    Args:
        layers: makes and caches the folders of installed packages.
        runtime: contains the packages that every run has.
        allowed: distributions that any task may use, as `name` or `name==version`.
        emit: receives an event when something was installed.
        clock: the time, to decide when an index that did not answer is asked again.
        environments: makes the environments that repositories declare; with None, these are ignored.
    """

    def __init__(
        self,
        layers: LayerStore,
        runtime: Runtime,
        *,
        allowed: Sequence[str],
        emit: Sink,
        clock: Clock = utc_now,
        environments: Environments | None = None,
    ) -> None:
        self._environments = environments
        self._layers, self._runtime, self._events, self._clock = layers, runtime, Emitter(emit), clock
        self._allowed = {each.key: each for each in map(requirement, allowed) if each}
        self._available: frozenset[str] | None = None
        self._memory = ImportMemory()
        self._looked_up = OrderedDict[str, Wheel | str]()

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """List faults to fix, questions for the owner, and the packages that the run may use.

        Raises:
            Parked: the package index does not answer.
            SandboxError: packages that the owner named cannot be installed.
        """
        theirs, installed = frozenset[str](), frozenset[str]()
        if job.environment and self._environments is not None:
            theirs = await self._environments.modules(job.tree, job.environment)
            installed = await self._environments.modules(job.tree, job.environment, of="node_modules")
        survey, wanted = await asyncio.to_thread(self._survey, job, theirs)
        if job.wanted:
            planned = [await self._judge(job, package) for package in survey.planned()]
            return ChangeCheckReport(asks=tuple(each for each in planned if isinstance(each, Ask)))
        findings = [_no_npm(need) for need in survey.scripts(installed)]
        layer = await self._install(job, survey, wanted)
        if isinstance(layer, Finding):
            return ChangeCheckReport(findings=(*findings, layer))
        here = await asyncio.to_thread(modules_in, layer.folder) if layer else frozenset[str]()
        here |= {normalise(name) for name in layer.packages} if layer else set()
        asks: dict[str, Ask] = {}
        for package in wanted:
            if package.need.module.partition(".")[0] in here and _subject(package.requirement) not in job.denied:
                continue
            judged = await self._judge(job, package)
            if isinstance(judged, Ask):
                asks.setdefault(judged.subject, judged)
            elif judged:
                findings.append(judged)
        if asks:
            return ChangeCheckReport(findings=tuple(findings), asks=tuple(asks.values()))
        return ChangeCheckReport(
            findings=tuple(findings),
            packages=layer.packages if layer else {},
            declares=await asyncio.to_thread(survey.declaring, wanted, layer.packages if layer else {}),
        )

    def _survey(self, job: ChangeCheckJob, theirs: frozenset[str]) -> tuple[PackageSurvey, list[WantedPackage]]:
        if self._available is None:
            self._available = list_provided(self._runtime)
        theirs |= set(map(top_module, list_submodules(job.tree)))
        survey = PackageSurvey(job, available=self._available | theirs, allowed=self._allowed, memory=self._memory)
        return survey, survey.wanted()

    async def _install(
        self, job: ChangeCheckJob, survey: PackageSurvey, packages: Iterable[WantedPackage]
    ) -> Layer | Finding | None:
        """Install the packages that the change needs and the owner allows, and the packages that the owner named.

        If the base has an environment, it contains the packages that the base declares. So these are left out, even if
        the owner named them. Return None if there is nothing to install. Return a finding if packages that the change
        imports cannot be installed.
        """
        named = {normalise(name) for name in job.spec.packages}
        named -= survey.declared.keys() if job.environment else set()
        may_use = (candidate for candidate in packages if candidate.requirement and self._may_use(job, candidate))
        wanted = {candidate.requirement.key: candidate for candidate in may_use if candidate.requirement}
        listed = {key: survey.allowed.get(key) or Requirement(name=key) for key in named}
        listed |= {key: package.requirement for key, package in wanted.items() if package.requirement}
        if not listed:
            return None
        try:
            layer = await self._layers.satisfy([str(each) for each in listed.values()])
        except Unobtainable as error:
            if blamed := next((package for package in wanted.values() if package.written), None):
                return _finding(UNKNOWN, blamed.need, f"packages cannot be installed: {error}")
            raise SandboxError(f"packages that this task may use cannot be installed: {error}") from error
        except Unreachable as error:
            raise Parked(f"{error}; the task waits for its packages", self._clock() + LOOK_AGAIN) from error
        if layer.new:
            self._report(job, layer)
        return layer

    def _may_use(self, job: ChangeCheckJob, package: WantedPackage) -> bool:
        key = package.requirement.key if package.requirement else ""
        named = key in self._allowed or key in {normalise(name) for name in job.spec.packages}
        subject = _subject(package.requirement)
        return bool(key) and subject not in job.denied and (named or subject in job.granted)

    async def _judge(self, job: ChangeCheckJob, package: WantedPackage) -> Ask | Finding | None:
        """Return a question to the owner or a finding about a module that is not installed; None to accept it."""
        need, wanted = package.need, package.requirement
        if wanted is None:
            text = f"the package that provides {need.module} is not known; name the package in requirements.txt"
            return _finding(UNCLEAR, need, text) if package.written else None
        if _subject(wanted) in job.denied:
            text = f"the owner denied the package {wanted.name}; do not use this package"
            return _finding(DENIED, need, text, Severity.BLOCK if package.written else Severity.NOTE)
        if self._may_use(job, package) or not (package.written or package.is_known):
            return None
        if job.environment and not package.written:
            return None  # The environment has the declared packages. Others were missing before the change too.
        index_answer = await self._look_up(wanted)
        if isinstance(index_answer, str):
            text = f"the module {need.module} is not a file of the tree, and {index_answer}"
            return _finding(UNKNOWN, need, text, Severity.BLOCK if package.written else Severity.NOTE)
        question = _question(package, wanted, index_answer)
        return Ask(kind=AskKind.PACKAGE, subject=_subject(wanted), question=question)

    async def _look_up(self, wanted: Requirement) -> Wheel | str | None:
        """Return the index's wheel for a package, or the reason why there is none.

        Return None if the index does not answer.
        """
        if wanted.key not in self._looked_up:
            try:
                self._looked_up[wanted.key] = await self._layers.wheels.look_up(str(wanted))
            except Unobtainable as error:
                self._looked_up[wanted.key] = str(error)
            except Unreachable:
                return None
        index_answer = self._looked_up[wanted.key]
        while len(self._looked_up) > REMEMBERED:  # A model may invent any number of names.
            self._looked_up.popitem(last=False)
        return index_answer

    def _report(self, job: ChangeCheckJob, layer: Layer) -> None:
        packages = {wheel.name: [wheel.version, f"sha256:{wheel.sha256}"] for wheel in layer.wheels}
        text = ", ".join(f"{name} {version}" for name, version in layer.packages.items())
        self._events.bind(task_id=job.task_id).emit(Kind.PACKAGE_INSTALLED, text[:500], packages=packages)


def list_provided(runtime: Runtime) -> frozenset[str]:
    """Return the top-level modules that every run has: those of its interpreter and of the mounted libraries."""
    argv = [*launcher.drop_root(), *runtime.python, "-I", "-S", "-B", "-c", _STDLIB]
    try:
        done = subprocess.run(argv, env=launcher.ENV, cwd="/", capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"the standard library of the sandbox cannot be listed: {error}") from error
    folders = [mount.host for mount in runtime.mounts if mount.inside in runtime.libraries]
    return frozenset(json.loads(done.stdout)).union(*map(modules_in, folders))


def modules_in(folder: Path) -> frozenset[str]:
    """Return the top-level modules in a folder of libraries."""
    paths = (path for path in folder.iterdir() if path.is_dir() or path.suffix in {".py", ".so"})
    return frozenset(path.name.partition(".")[0] for path in paths if not path.name.endswith((".dist-info", ".data")))


def _question(package: WantedPackage, wanted: Requirement, wheel: Wheel | None) -> str:
    need = package.need
    summary = f" The package index describes {wheel.name} {wheel.version} as “{wheel.summary}”." if wheel else ""
    slip = "" if package.is_known else " Nightshift does not know this package; check its name for a typing error."
    does = "names this package" if is_declaration(need.path) else f"imports {need.module}"
    why = f"{need.path}:{need.line} {does}" if need.path else "The task's plan names this package"
    return (
        f"May the task use the package {wanted.name}? {why}. If you approve, Nightshift installs "
        f"the wheels of {wanted} and of its dependencies from the package index; their code will run in the sandbox."
        f"{summary}{slip}"
    )


def _subject(wanted: Requirement | None) -> str:
    return package_subject(wanted.name) if wanted else ""


def _no_npm(need: MissingModule) -> Finding:
    text = f"{need.module} is not a Node.js module, a file of the tree or a package of its lock file; do not use it"
    return _finding(NO_NPM, need, text)


def _finding(rule: str, need: MissingModule, message: str, severity: Severity = Severity.BLOCK) -> Finding:
    return Finding(rule=rule, severity=severity, path=need.path, line=need.line, message=message)
