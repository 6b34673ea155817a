"""Puts a plan on disk and words it for the sandbox: what is copied in, mounted, and told to the parent inside."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.isolation import Mount, SandboxJob, SandboxLimits
from core.tree import Tree
from sandbox import staging
from sandbox.plan import Plan
from sandbox.runtime import Runtime
from sandbox.staging import encoded
from sandbox.trees import TreeStore
from sandbox.twins import Role

WORK = "/work"
SPARE_S = 15.0
ANSWER_BYTES = 16 << 20
PAGE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A run ready to go. `key` signs its answer, `digest` is that of all files it sees under their owner's names."""

    job: SandboxJob
    key: bytes
    digest: str


@contextlib.contextmanager
def staged(
    plan: Plan, base: Tree, runtime: Runtime, trees: TreeStore, jobs: Path, limits: SandboxLimits
) -> Iterator[Staged]:
    """Stage a plan for as long as its run takes.

    Args:
        plan: what the run sees.
        base: the tree below it.
        runtime: what runs inside.
        trees: keeps whole trees.
        jobs: an existing folder for what belongs to one run.
        limits: of the run; `wall_s` is for the tests themselves.

    Raises:
        SandboxError: a file cannot be staged.
    """
    with contextlib.ExitStack() as held:
        folder = held.enter_context(staging.job_folder(jobs))
        over, tests = _folder(folder / "over"), _folder(folder / "tests")
        copy_in, digests, size = [over], dict[str, str](), 0
        texts = dict(plan.texts)
        if plan.closure is None:
            stored = held.enter_context(trees.lease(base))
            copy_in.insert(0, stored.folder)
            digests, size = dict(stored.digests), stored.size_bytes
        else:
            wanted = plan.closure - texts.keys() - set(plan.removed)
            texts |= {path: base.read(path) for path in wanted}
        digests |= staging.write(over, texts.items(), from_tree=True)
        for name in plan.removed:
            digests.pop(name, None)
        key = secrets.token_bytes(32)
        job = SandboxJob(
            argv=runtime.argv,
            copy_in=tuple(copy_in),
            mounts=(*runtime.mounts, *_shown(plan, tests)),
            stdin=json.dumps(_instructions(plan, key, digests, limits, runtime)).encode(),
            limits=_limits(limits, size + sum(map(len, texts.values())), len(digests)),
        )
        yield Staged(job=job, key=key, digest=_digest(plan, digests))


def _folder(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o755)
    return path


def _shown(plan: Plan, tests: Path) -> tuple[Mount, ...]:
    """Write the tests where the tested code cannot change them, and show each in its place."""
    staging.write(tests, plan.mounted.items(), from_tree=True)
    return tuple(Mount(host=tests / path, inside=f"{WORK}/{path}") for path in plan.mounted)


def _instructions(
    plan: Plan, key: bytes, digests: Mapping[str, str], limits: SandboxLimits, runtime: Runtime
) -> dict[str, object]:
    """What the trusted parent is told; only `session` and `plain` reach a child."""
    token = f"\x1e{secrets.token_hex(12)}"
    kept = [file.staged for file in plan.files if file.staged == file.path]
    session = {
        "files": plan.order,
        "options": plan.options,
        "paths": plan.paths,
        "preload": plan.preload,
        "token": token,
    }
    return {
        "key": key.hex(),
        "remove": plan.removed if plan.closure is None else (),
        "digests": {path: digests[path] for path in kept if path in digests},
        "command": _command(plan.command, runtime),
        "plain": {file.staged: file.plain for file in plan.files if file.plain},
        "twins": plan.twins,
        "decisive": [file.staged for file in plan.files if file.role in {Role.GIVEN, Role.OWN}],
        "wall_s": limits.wall_s,
        "output_bytes": limits.output_bytes,
        "token": token,
        "session": session,
    }


def _command(command: tuple[str, ...], runtime: Runtime) -> tuple[str, ...]:
    """A command with the interpreter inside in the place of one that need not exist there."""
    return (*runtime.python, *command[1:]) if command and command[0] in {"python", "python3"} else command


def _limits(limits: SandboxLimits, staged_bytes: int, files: int) -> SandboxLimits:
    """The isolation's limits: time for the tests, their copies and the plain run, and room for what is copied in."""
    room_mb = (staged_bytes + PAGE * files) >> 20
    return replace(
        limits,
        wall_s=3 * limits.wall_s + SPARE_S,
        work_mb=limits.work_mb + room_mb,
        memory_mb=limits.memory_mb + room_mb,
        output_bytes=ANSWER_BYTES,
    )


def _digest(plan: Plan, digests: Mapping[str, str]) -> str:
    tests = {file.path: staging.sha256(encoded(file.original)) for file in plan.files}
    return staging.digest_of({**digests, **tests})
