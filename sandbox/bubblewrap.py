"""The strong sandbox: bubblewrap with every layer of the recipe around it.

    control group → limits of each process → unprivileged user → namespaces, private mounts, seccomp filter → copy-in

What a job sees is put together from nothing: the system's programs and the given mounts read-only, small private
file systems in memory for `/work`, `/tmp` and `/dev/shm`, no network, no process but its own, no environment but a
fixed one. Nothing is written back; results leave by the pipes. The command becomes process 1 of its own process
namespace: nothing inside can kill it, and its end is the end of everything it started.

A job counts as started when a random line appears on its standard error; the launch script writes it after the copy,
before it becomes the command. Without it, whatever the exit code, the isolation failed and nothing untrusted ran.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.errors import SandboxError
from core.isolation import Ended, SandboxJob, SandboxLimits, SandboxResult
from core.masking import printable
from sandbox import cgroups, child, launcher, seccomp
from sandbox.cgroups import CgroupError, Group, Hierarchy

NAME = "bubblewrap"
TMP_MB = 64
SHM_MB = 16
_FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\nagent:x:1000:1000::/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nnogroup:x:65534:\nagent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
_ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 (the job's own)
    "TMPDIR": "/tmp",  # noqa: S108 (the job's own)
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class BubblewrapSandbox:
    """Runs jobs under bubblewrap.

    Args:
        hierarchy: where control groups are made; None leaves limits to each process alone, which is weaker.

    Raises:
        SandboxError: a program is missing, or there is no system-call filter for this machine.
    """

    name = NAME

    def __init__(self, hierarchy: Hierarchy | None) -> None:
        needed = ["bwrap", "prlimit", *(["setpriv"] if os.geteuid() == 0 else [])]
        if missing := [program for program in needed if shutil.which(program) is None]:
            raise SandboxError(f"{', '.join(missing)} missing; type `sudo apt-get install bubblewrap util-linux`")
        try:
            self._filter = seccomp.program()
        except KeyError as error:
            raise SandboxError(f"there is no system-call filter for {error.args[0]}") from None
        self.hierarchy = hierarchy

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run to the end, to the limit, or until cancelled; nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        marker = secrets.token_hex(16)
        group = self._group(job.limits)
        try:
            with _memory_files(self._filter, *(text.encode() for text in _FILES.values())) as descriptors:
                finished = await child.run(self._launch(job, marker, group, descriptors))
            usage = group.usage() if group else None
        finally:
            if group:
                await child.uninterrupted(cgroups.remove(group))
        before, started, output = finished.stderr.partition(f"{marker}\n".encode())
        if not started:
            raise SandboxError(_explain(printable(before).strip(), finished.ended))
        code = finished.exit_code
        return SandboxResult(
            exit_code=128 - code if 128 < code < 192 else code,  # bubblewrap reports a signal as 128 + its number
            ended=_how(finished.ended, code, usage.oom_kills if usage else 0),
            stdout=finished.stdout,
            stderr=output,
            duration_s=finished.duration_s,
            peak_memory_mb=usage.peak_bytes / (1 << 20) if usage and usage.peak_bytes else None,
        )

    def _group(self, limits: SandboxLimits) -> Group | None:
        try:
            return self.hierarchy.create(limits) if self.hierarchy else None
        except (CgroupError, OSError) as error:
            raise SandboxError(f"the control group could not be made: {error}") from error

    def _launch(self, job: SandboxJob, marker: str, group: Group | None, descriptors: list[int]) -> child.Launch:
        join = group.join_files if group else ()
        return child.Launch(
            argv=[
                *launcher.prefix(job.limits, join, address_space=group is None),
                *_namespaces(job, descriptors),
                *_inside(job, marker, bound_processes=group is None),
            ],
            env=launcher.ENV,
            stdin=job.stdin,
            wall_s=job.limits.wall_s,
            output_bytes=job.limits.output_bytes,
            kill=lambda _pid: group.kill() if group else None,
            pass_fds=tuple(descriptors),
        )


def _namespaces(job: SandboxJob, descriptors: list[int]) -> list[str]:
    """The words of bubblewrap itself, up to the command."""
    filter_fd, *files = map(str, descriptors)
    words = [
        "bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000",
        "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--clearenv",
        *(word for name, value in _ENV.items() for word in ("--setenv", name, value)),
        "--perms", "0755", "--dir", "/etc", "--ro-bind", "/usr", "/usr", *_tmpfs("/usr/local", 1), *_system_links(),
        "--proc", "/proc", "--dev", "/dev", *_tmpfs("/dev/shm", SHM_MB), *_tmpfs("/tmp", TMP_MB),  # noqa: S108 (inside)
        *_tmpfs("/work", job.limits.work_mb),
        *(word for fd, path in zip(files, _FILES, strict=True) for word in ("--perms", "0444", "--file", fd, path)),
        *(word for n, path in enumerate(job.copy_in) for word in ("--ro-bind", str(path), f"/src/{n}")),
        *(word for mount in job.mounts for word in ("--ro-bind", str(mount.host), mount.inside)),
    ]  # fmt: skip
    sealed = ("/usr/local", "/dev", "/proc", "/")
    return [
        *words,
        *(word for path in sealed for word in ("--remount-ro", path)),
        *("--chdir", "/work", "--seccomp", filter_fd, "--"),
    ]


def _inside(job: SandboxJob, marker: str, *, bound_processes: bool) -> list[str]:
    """The script that fills `/work`, says that the job starts, and becomes the command."""
    copies = "".join(f"cp -R /src/{n}/. /work/ && " for n in range(len(job.copy_in)))
    bound = ["prlimit", f"--nproc={job.limits.pids}", "--"] if bound_processes else []
    return ["/bin/sh", "-c", f'{copies}echo {marker} >&2 && exec "$@"', "sh", *bound, *job.argv]


def _tmpfs(path: str, size_mb: int) -> list[str]:
    return ["--size", str(size_mb << 20), "--tmpfs", path]


def _system_links() -> Iterator[str]:
    """`/bin` and its like are links into `/usr` on merged systems, folders on others."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for path in (Path("/etc/ld.so.cache"), Path("/etc/alternatives")):
        yield from ("--ro-bind-try", str(path), str(path))


@contextlib.contextmanager
def _memory_files(*contents: bytes) -> Iterator[list[int]]:
    """Descriptors of files in memory, for what bubblewrap reads from descriptors."""
    descriptors: list[int] = []
    try:
        for content in contents:
            descriptors.append(os.memfd_create("sandbox"))
            os.write(descriptors[-1], content)
            os.lseek(descriptors[-1], 0, os.SEEK_SET)
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _how(ended: Ended, code: int, oom_kills: int) -> Ended:
    if oom_kills and ended is not Ended.OUTPUT_LIMIT:
        return Ended.OUT_OF_MEMORY
    return Ended.KILLED if ended is Ended.EXITED and 128 < code < 192 else ended


def _explain(text: str, ended: Ended) -> str:
    """Why bubblewrap did not come up, with the cure where it is known."""
    if "setting up uid map" in text or "No permissions to create new namespace" in text:
        return (
            f"{text}: this system does not let bubblewrap make user namespaces. On Ubuntu 24.04 and later give it an "
            "AppArmor profile: put `abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` into "
            "/etc/apparmor.d/bwrap and run `sudo systemctl reload apparmor`; elsewhere set "
            "`sudo sysctl kernel.unprivileged_userns_clone=1`"
        )
    return text or f"the sandbox did not start ({ended})"
