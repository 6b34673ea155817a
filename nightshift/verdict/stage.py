"""Turns a plan into a sandbox job.

The job contains the files of the run and the instructions for the trusted parent, which unpacks the files inside the
sandbox.
"""

from __future__ import annotations

import json
import math
import posixpath
import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace

from nightshift.core.code.tree import Linked, Tree, read_submodules
from nightshift.core.isolation import SandboxJob, SandboxLimits
from nightshift.core.text.encoding import encode
from nightshift.git.bare_checkout import write_checkout
from nightshift.sandbox import packing, services
from nightshift.sandbox.inside.time_limits import BUSIEST
from nightshift.sandbox.packing import Packed, pack
from nightshift.sandbox.runtime import CALLS, SUITES, Runtime
from nightshift.sandbox.trees import PAGE, Below, TreeStore
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.time_limits import TimeLimit, clock

SPARE_S = 15.0
ANSWER_BYTES = 40 << 20
"""Maximum bytes of a signed answer. It must fit the events of a run (`sandbox.inside.child.EVENTS`) as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A run that is ready to start.

    Attributes:
        job: the sandbox job.
        key: the key that signs the answer.
        digest: hash of all files that the run sees, under their original names.
        secret: the prefix of each line that a recorder writes.
    """

    job: SandboxJob
    key: bytes
    digest: str
    secret: str


def stage(
    plan: Plan,
    base: Tree,
    runtime: Runtime,
    trees: TreeStore,
    limits: SandboxLimits,
    time: TimeLimit,
    share: float = 0.5,
) -> Staged:
    """Build the sandbox job of a plan.

    Args:
        plan: the files and settings of the run.
        base: the tree without the change. Files of the plan replace or extend its files.
        runtime: the interpreter and libraries inside the sandbox.
        trees: caches whole trees.
        limits: the limits of the job. `cpu_s` is the time for the tests, without the overhead of the sandbox.
        time: the time limit of this run, at most that of `limits`.
        share: the share of `time` after which the run begins no further test file of the base. Files that have not
            begun by then are left for another run.

    Raises:
        SandboxError: a file cannot be staged.
    """
    over = pack(_texts(plan, base).items(), from_tree=True)
    below = trees.get(base).below(over.digests, plan.removed) if plan.closure is None else Below()
    digests = {**below.digests, **over.digests}
    key = secrets.token_bytes(32)
    has_all = plan.closure is None and not plan.calls and plan.program is None
    git = write_checkout(base) if has_all else ()
    files = [(path, size) for path, size, _ in (*below.packed.index, *over.index)]
    files += [(path, len(content)) for path, content in git]
    secret = secrets.token_hex(12)
    instructions = {
        **_instructions(plan, limits, runtime, time, share, secret),
        "key": key.hex(),
        "files": files,
        "gone": below.gone,
        **_modes(plan, base, digests),
        "watched": sorted(digests.keys() & {file.path for file in plan.files}),
    }
    entry = _entry(plan)
    job = SandboxJob(
        argv=runtime.argv(entry),
        mounts=runtime.mounts_for(entry),
        layers=below.layers,
        stdin=message(instructions, below.packed, over, b"".join(content for _, content in git)),
        answers=True,
        limits=services.limit(_limits(plan, limits, [size for _, size in files]), runtime),
    )
    return Staged(job=job, key=key, digest=_digest(plan, digests), secret=secret)


def _modes(plan: Plan, base: Tree, digests: Collection[str]) -> dict[str, object]:
    """Return the tree's symbolic links, with targets relative to the folder of the link, and its executable files."""
    if plan.closure is not None or not isinstance(base, Linked):
        return {"links": [], "programs": []}
    links = base.links().items()
    relative_links = [(path, posixpath.relpath(target, posixpath.dirname(path) or ".")) for path, target in links]
    return {
        "links": sorted(each for each in relative_links if each[0] not in digests),
        "programs": sorted(base.programs() & set(digests)),
    }  # fmt: skip


def _entry(plan: Plan) -> str:
    """Return the module that starts the trusted parent for a plan."""
    if plan.program is not None:
        return plan.program.entry
    return CALLS if plan.calls else SUITES


def _texts(plan: Plan, base: Tree) -> dict[str, bytes]:
    """Return the files that replace or extend the files of the base in the sandbox.

    Usually, the sandbox gets the files of the base separately. If the run sees only a part of the base, the result
    contains the files of that part instead.
    """
    texts = dict(plan.texts)
    if plan.closure is None:
        texts = {**read_submodules(base), **texts}
    else:
        texts |= {path: base.read(path) for path in sorted(plan.closure - texts.keys() - set(plan.removed))}
    return texts


def message(instructions: dict[str, object], below: Packed, over: Packed, more: bytes = b"") -> bytes:
    """Return the sandbox's standard input.

    The parts are the length of the instructions on a line of its own, the instructions as JSON, and the contents of all
    files, with those in `more` last.
    """
    header = json.dumps(instructions).encode()
    return b"".join((b"%d\n" % len(header), header, below.blob, over.blob, more))


def _instructions(
    plan: Plan, limits: SandboxLimits, runtime: Runtime, time: TimeLimit, share: float, secret: str
) -> dict[str, object]:
    """Return the trusted parent's instructions. Only their `session` part reaches a child that runs tested code."""
    token = f"\x1e{secrets.token_hex(12)}"
    session = {
        "words": plan.words,
        "is_module": plan.is_module,
        "has_conftest": plan.has_conftest,
        "files": plan.order,
        "paths": tuple(dict.fromkeys((*plan.paths, *runtime.roots))),
        "environ": runtime.of_process,
        "executable": runtime.executable,
        "recorder": {
            "secret": secret,
            "preload": plan.preloads,
            "standing": [file.path for file in plan.files if file.role in {Role.REGRESSION, Role.COMMAND}],
            "traced": plan.is_traced,
            "budget": {
                "cpu_s": share * time.cpu_s,
                "wall_s": share * time.wall_s,
                "files": [file.path for file in plan.files if file.role is Role.REGRESSION],
            },
        },
        "token": token,
    }
    return {
        "command": plan.command,
        "environ": runtime.of_process,
        **services.describe(runtime),
        "calls": plan.calls,
        "program": plan.program.job if plan.program else None,
        "memory_mb": limits.memory_mb,
        "node": None,
        "go": None,
        "must_fail": plan.must_fail,
        **_tell_limit(time, plan),
        "output_bytes": limits.output_bytes,
        "token": token,
        "session": session,
        **(plan.launch.instructions(must_fail=plan.must_fail, memory_mb=limits.memory_mb) if plan.launch else {}),
    }


def _tell_limit(time: TimeLimit, plan: Plan) -> dict[str, float | None]:
    """Return a time limit as instructions for the trusted parent. For a program, only the clock counts."""
    if plan.program is not None:
        return {"wall_s": time.cpu_s, "cpu_s": None, "idle_s": None}
    return time.instructions()


def _limits(plan: Plan, limits: SandboxLimits, sizes: list[int]) -> SandboxLimits:
    """Return the sandbox's limits: time for the tests, and room for the files.

    The time depends on `limits`, not on the shorter time limit of a single run. Therefore many jobs have equal limits,
    and a pool can start sandboxes before the jobs are known.
    """
    files_mb = (sum(sizes) + PAGE * len(sizes)) >> 20
    return replace(
        limits,
        cpu_s=max(1.0, limits.cpus) * limits.cpu_s + SPARE_S if plan.program is None else math.inf,
        wall_s=(BUSIEST * clock(limits) if plan.program is None else 1.0) * limits.cpu_s + SPARE_S,
        work_mb=limits.work_mb + files_mb,
        memory_mb=limits.memory_mb + files_mb + (max(sizes, default=0) >> 20),
        output_bytes=ANSWER_BYTES,
        reserved_mb=plan.launch.reserved_mb if plan.launch else 0,
    )


def _digest(plan: Plan, digests: dict[str, str]) -> str:
    tests = {file.path: packing.sha256(encode(file.text)) for file in plan.files}
    return packing.digest_of({**digests, **tests})
