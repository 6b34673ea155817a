"""Runs a shell command that a model asked for, in the sandbox, and returns the files that the command changed.

Each command is one sandbox job that is thrown away afterwards. Only the returned texts remain. They are a change like
any other: the caller must pass them through the same guards as a model's own files.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nightshift.core.code.ignore_files import NAME, IgnoreRules
from nightshift.core.code.paths import at_or_below, path_fault
from nightshift.core.code.tree import text_of
from nightshift.core.isolation import RUN_LIMITS, Ended, SandboxJob, SandboxLimits, SandboxResult
from nightshift.core.ports import Sandbox, Shell
from nightshift.core.shell import ShellJob, ShellResult
from nightshift.core.text.encoding import encode
from nightshift.core.text.masking import Masker
from nightshift.sandbox import services
from nightshift.sandbox.cleaning import Mask, line, print_output
from nightshift.sandbox.inside.time_limits import BUSIEST
from nightshift.sandbox.packing import pack
from nightshift.sandbox.runtime import COMMANDS, Runtime
from nightshift.sandbox.trees import PAGE, TreeStore
from nightshift.verdict.answer import CommandAnswer, read_command
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments, runtime_of
from nightshift.verdict.languages.go import plan as golang
from nightshift.verdict.languages.javascript.plan import RESERVED_MB
from nightshift.verdict.stage import SPARE_S, message
from nightshift.verdict.time_limits import TimeLimit, clock

FLOOD_BYTES = 64 << 20
"""Bytes of output after which a command is ended. The beginning and the end of the output are still returned."""
ANSWER_BYTES = 32 << 20
_ENDED = {"exited": Ended.EXITED, "timeout": Ended.TIMEOUT, "flood": Ended.OUTPUT_LIMIT, "memory": Ended.OUT_OF_MEMORY}
_SIGKILL = -9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    job: SandboxJob
    key: bytes


class ShellRunner(Shell):
    """Runs commands in one sandbox. Any number of commands can run at the same time.

    Args:
        sandbox: runs untrusted code.
        runtime: the interpreter and libraries inside the sandbox.
        staging_dir: a folder that caches whole trees between runs; created if it is missing. It may be shared with a
            suite runner.
        mask: removes secrets from the output of commands.
        layers: the packages that jobs may ask for. Without them, a job that asks for packages is refused.
        environments: the environments of repositories. Without them, a job that needs an environment is refused.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        runtime: Runtime,
        staging_dir: Path,
        *,
        mask: Mask | None = None,
        layers: LayerStore | None = None,
        environments: Environments | None = None,
    ) -> None:
        self._sandbox, self._runtime, self._mask, self._layers = sandbox, runtime, mask or Masker(), layers
        self._environments = environments
        self._trees = TreeStore(staging_dir)

    async def execute(self, job: ShellJob) -> ShellResult:
        """Run a command in one sandbox job, and return its result.

        The result contains the new text of each text file that the command changed.

        Raises:
            SandboxError: nothing could be run.
        """
        runtime = await runtime_of(self._runtime, job, layers=self._layers, environments=self._environments)
        ready = await asyncio.to_thread(_stage_command, job, runtime, self._trees)
        result = await self._sandbox.run(ready.job)
        return await asyncio.to_thread(self._read, job, result, ready.key)

    def _read(self, job: ShellJob, result: SandboxResult, key: bytes) -> ShellResult:
        answer = read_command(result, key)
        if answer is None:  # The trusted parent was killed with the sandbox, or the sandbox reached a limit.
            ended = Ended.KILLED if result.ended is Ended.EXITED else result.ended
            output = print_output(result.stderr.decode("utf-8", "replace"), self._mask)
            return ShellResult(exit_code=_SIGKILL, ended=ended, output=output, duration_s=result.duration_s)
        faults = dict(_faults(answer, job))
        others = {line(path, self._mask): line(why, self._mask) for path, why in {**answer.dropped, **faults}.items()}
        return ShellResult(
            exit_code=_SIGKILL if answer.exit_code is None else answer.exit_code,
            ended=_describe_end(answer, result),
            output=_output(answer, self._mask),
            files={path: text for path, text in answer.files.items() if path not in faults},
            dropped=others,
            duration_s=answer.duration_s,
        )


def _describe_end(answer: CommandAnswer, result: SandboxResult) -> Ended:
    if result.ended is Ended.OUT_OF_MEMORY:
        return result.ended
    killed = answer.exit_code is not None and answer.exit_code < 0
    return Ended.KILLED if killed else _ENDED[answer.how]


def _output(answer: CommandAnswer, mask: Mask) -> str:
    head, tail = (print_output(end, mask) for end in answer.output)
    return f"{head}\n… ({answer.left_out:,} bytes left out) …\n{tail}" if answer.left_out else head + tail


def _faults(answer: CommandAnswer, job: ShellJob) -> Iterator[tuple[str, str]]:
    """List the returned files whose paths are not allowed in a change, each with the reason."""
    closed, entries = job.base.unwritable(), job.base.entries()
    ignored = _read_ignore_rules(answer, job)
    for path in answer.files:
        if why := path_fault(path):
            yield path, why
        elif path not in entries and path not in job.change and path not in job.tests and ignored.ignore(path):
            yield path, f"is ignored by {NAME}"
        elif conflict := at_or_below((path,), closed):
            yield path, f"lies at or below {conflict[1]!r}, a link or a submodule"


def _read_ignore_rules(answer: CommandAnswer, job: ShellJob) -> IgnoreRules:
    """Read the repository's ignore rules in the state that the command left them in."""
    over = {**job.change, **job.tests, **answer.files}
    texts = {
        path: over[path] if path in over else text_of(job.base, path)
        for path in {*job.base.entries(), *over}
        if path.rpartition("/")[2] == NAME
    }
    return IgnoreRules({path: text for path, text in texts.items() if text is not None})


def _stage_command(job: ShellJob, runtime: Runtime, trees: TreeStore) -> _Staged:
    """Build the sandbox job of a command.

    Raises:
        SandboxError: a file cannot be staged.
    """
    over_texts = {**job.change, **job.tests}
    over = pack(((path, encode(text)) for path, text in over_texts.items() if text is not None), from_tree=True)
    below = trees.get(job.base).below(over.digests, [path for path, text in over_texts.items() if text is None])
    files = [(path, size) for path, size, _ in (*below.packed.index, *over.index)]
    key = secrets.token_bytes(32)
    instructions: dict[str, object] = {
        "key": key.hex(),
        "files": files,
        "gone": below.gone,
        "digests": {**below.digests, **over.digests},
        "command": job.command,
        "environ": runtime.of_process,
        **services.describe(runtime),
        "node": runtime.node.path if runtime.node else None,
        "go": golang.describe(runtime.go) if runtime.go else None,
        **TimeLimit.of(job.limits).instructions(),
        "output_bytes": FLOOD_BYTES,
    }
    command = SandboxJob(
        argv=runtime.argv(COMMANDS),
        mounts=runtime.mounts_for(COMMANDS),
        layers=below.layers,
        stdin=message(instructions, below.packed, over),
        answers=True,
        limits=services.limit(_limits(job, runtime, [size for _, size in files]), runtime),
    )
    return _Staged(job=command, key=key)


def _limits(job: ShellJob, runtime: Runtime, sizes: list[int]) -> SandboxLimits:
    """Return the sandbox's limits: room for the files, and a time limit that is the same for all short commands.

    The trusted parent inside the sandbox enforces the command's own time limit. With equal limits for many commands, a
    pool can start sandboxes before the commands are known.
    """
    files_mb = (sum(sizes) + PAGE * len(sizes)) >> 20
    longest_s = max(job.limits.cpu_s, RUN_LIMITS.cpu_s)
    return replace(
        SandboxLimits().with_run(job.limits),
        cpu_s=max(1.0, job.limits.cpus) * longest_s + SPARE_S,
        wall_s=BUSIEST * clock(job.limits) * longest_s + SPARE_S,
        work_mb=job.limits.work_mb + files_mb,
        memory_mb=job.limits.memory_mb + files_mb + (max(sizes, default=0) >> 20),
        output_bytes=ANSWER_BYTES,
        reserved_mb=RESERVED_MB if runtime.node else 0,
    )
