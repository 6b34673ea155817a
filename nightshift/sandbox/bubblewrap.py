"""The strong sandbox: bubblewrap with further layers of isolation around it.

    control group → limits of each process → unprivileged user → namespaces, private mounts, seccomp filter → copy-in

A job sees only what is added for it: the system's programs and the given mounts read-only, small private file systems
in memory for `/work`, `/tmp` and `/dev/shm`, no network, only its own processes, and a fixed environment. Nothing is
written back to the host; results leave through the pipes. The command becomes process 1 of its own process namespace,
so nothing inside can kill it, and its end ends everything it started.

A job counts as started when a random line appears on its standard error. The launch script writes that line after
copying the files, just before it becomes the command. Without that line, whatever the exit code, the isolation failed
and no untrusted code ran.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import WORK, Ended, Mount, SandboxJob, SandboxLimits
from nightshift.core.text.masking import printable
from nightshift.sandbox import child, launcher, seccomp
from nightshift.sandbox.cgroups import CgroupError, Group, Hierarchy
from nightshift.sandbox.child import Finished
from nightshift.sandbox.grouped import GroupedJob
from nightshift.sandbox.isolation import Begun, Isolation

NAME = "bubblewrap"
SHM_MB = 16
FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\nagent:x:1000:1000::/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nnogroup:x:65534:\nagent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
}
COUNTERS = tuple(
    f"/proc/{name}"
    for name in (
        "stat", "loadavg", "vmstat", "interrupts", "softirqs", "diskstats", "schedstat", "zoneinfo", "buddyinfo",
        "locks", "pagetypeinfo", "cgroups", "pressure/cpu", "pressure/io", "pressure/memory", "sys/fs/inode-nr",
        "sys/fs/inode-state", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/aio-nr", "sys/kernel/pty/nr",
    )
    if Path("/proc", name).exists()
)  # fmt: skip
"""Files with counters of the whole machine. They are hidden, because one sandbox could change a counter and another
sandbox read it.
"""
_PROCESSORS = "".join(f"cpu{name} 0 0 0 0 0 0 0 0 0 0\n" for name in (" ", *range(os.cpu_count() or 1)))
STILL = {
    "/proc/stat": f"{_PROCESSORS}intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
    "/proc/loadavg": "0.00 0.00 0.00 1/1 1\n",
}
"""Replacement contents for files that programs expect. All other files in `COUNTERS` are replaced by empty ones."""
OPEN_CONTAINER = (
    "to run tasks in a container, start it with `--security-opt seccomp=unconfined --security-opt "
    "systempaths=unconfined` and, if the host has AppArmor, `--security-opt apparmor=unconfined`, as compose.yaml "
    "does: by default, a container engine does not let bubblewrap make sandboxes in the container"
)
_REFUSALS = (
    "setting up uid map",
    "No permissions to create new namespace",
    "Creating new namespace failed",
    "Failed to make / slave",
    "Can't mount proc",
)
_ENV = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 (the job's own)
    "TMPDIR": "/tmp",  # noqa: S108 (the job's own)
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class BubblewrapSandbox(Isolation):
    """Runs jobs under bubblewrap.

    Args:
        hierarchy: where control groups are created. None means that only the limits of each process apply, which is
            weaker.
        nice: by how many levels the priority of jobs is lowered (`sandbox.launcher`).

    Raises:
        SandboxError: a program is missing, or there is no system-call filter for this machine.
    """

    name = NAME

    def __init__(self, hierarchy: Hierarchy | None, *, nice: int = 0) -> None:
        needed = ["bwrap", "prlimit", *(["ionice"] if nice else []), *(["setpriv"] if os.geteuid() == 0 else [])]
        if missing := [program for program in needed if shutil.which(program) is None]:
            raise SandboxError(
                f"this sandbox needs {', '.join(missing)}; type `sudo apt-get install bubblewrap util-linux`"
            )
        try:
            self.filter = seccomp.program()
        except KeyError as error:
            raise SandboxError(f"there is no system-call filter for {error.args[0]}") from None
        self.hierarchy, self.nice = hierarchy, nice

    async def begin(self, job: SandboxJob, *, writable: Sequence[Mount] = (), passed: Sequence[int] = ()) -> Begun:
        """Start a job without writing its standard input.

        Args:
            job: the job to run.
            writable: folders of the host that the job may write to; they may replace the job's own file systems.
            passed: descriptors that the job inherits, with the same numbers.

        Raises:
            SandboxError: the isolation could not be set up.
        """
        marker, job = secrets.token_hex(16), job.copying()
        group = self.group(job.limits)
        try:
            texts = [*FILES.values(), *(STILL.get(path, "") for path in COUNTERS)]
            with memory_files(self.filter, *(text.encode() for text in texts)) as descriptors:
                words = [*_namespaces(job, descriptors, writable), *_inside(job, marker, bound_processes=group is None)]
                running = child.spawn(self._launch(job, group, words, (*descriptors, *passed)))
        except SandboxError:
            if group:
                group.remove()
            raise
        return GroupedJob(
            running=running,
            group=group,
            limits=job.limits,
            answers=job.answers,
            proved=lambda finished: _prove(finished, marker),
        )

    def group(self, limits: SandboxLimits) -> Group | None:
        """Return a control group for one job; None if this machine has no control groups.

        Raises:
            SandboxError: the kernel refused a limit.
        """
        try:
            return self.hierarchy.create(limits) if self.hierarchy else None
        except (CgroupError, OSError) as error:
            raise SandboxUnready(f"the control group could not be made: {error}") from error

    def _launch(
        self, job: SandboxJob, group: Group | None, words: Sequence[str], descriptors: Sequence[int]
    ) -> child.Launch:
        join = group.join_files if group else ()
        return child.Launch(
            argv=[*launcher.prefix(job.limits, join, address_space=group is None, nice=self.nice), *words],
            env=launcher.ENV,
            output_bytes=job.limits.output_bytes,
            kill=lambda _pid: group.kill() if group else None,
            pass_fds=tuple(descriptors),
        )


def _prove(finished: Finished, marker: str) -> Finished:
    """Return the job's own result. Raise an error if the start mark is missing from its standard error."""
    before, started, output = finished.stderr.partition(f"{marker}\n".encode())
    if not started:
        raise SandboxUnready(_explain(printable(before).strip(), finished.ended))
    code = finished.exit_code  # bubblewrap reports a signal as 128 + its number
    return replace(finished, exit_code=128 - code if 128 < code < 192 else code, stderr=output)


def _namespaces(job: SandboxJob, descriptors: Sequence[int], writable: Sequence[Mount]) -> list[str]:
    """Return the arguments of bubblewrap itself, up to the command."""
    filter_fd, *files = descriptors
    sizes = {"work_mb": job.limits.work_mb, "tmp_mb": job.limits.tmp_mb}
    words = [*namespaces(job.mounts, files[: len(FILES)], **sizes), "--disable-userns"]
    masked = zip(files[len(FILES) :], COUNTERS, strict=True)
    words += [word for fd, path in masked for word in ("--ro-bind-data", str(fd), path)]
    shown = (word for n, layer in enumerate(job.layers) for word in ("--ro-bind", str(layer.host), f"/src/{n}"))
    bound = (word for mount in writable for word in ("--bind", str(mount.host), mount.inside))
    return [*words, *shown, *bound, *_seal("/proc", "/"), "--chdir", WORK, "--seccomp", str(filter_fd), "--"]


def namespaces(mounts: Sequence[Mount], files: Sequence[int], *, work_mb: int, tmp_mb: int) -> list[str]:
    """Return the arguments that build a sandbox: namespaces, the system's programs, mounts and private file systems.

    Args:
        mounts: further folders that are shown read-only.
        files: descriptors of the small files below /etc, in the order of `FILES`.
        work_mb: the size of `/work`, in MB.
        tmp_mb: the size of `/tmp`, in MB.
    """
    return [
        "bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000",
        "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--clearenv",
        *(word for name, value in _ENV.items() for word in ("--setenv", name, value)),
        "--perms", "0755", "--dir", "/etc", "--ro-bind", "/usr", "/usr", *_tmpfs("/usr/local", 1), *_system_links(),
        "--proc", "/proc", "--dev", "/dev", *_tmpfs("/dev/shm", SHM_MB), *_tmpfs("/tmp", tmp_mb),  # noqa: S108 (inside)
        *_tmpfs(WORK, work_mb),
        *(w for fd, path in zip(files, FILES, strict=True) for w in ("--perms", "0444", "--file", str(fd), path)),
        *(word for mount in mounts for word in ("--ro-bind", str(mount.host), mount.inside)),
        *_seal("/usr/local", "/dev"),
    ]  # fmt: skip


def _seal(*paths: str) -> list[str]:
    return [word for path in paths for word in ("--remount-ro", path)]


def _inside(job: SandboxJob, marker: str, *, bound_processes: bool) -> list[str]:
    """Return the script that fills `/work`, writes the start mark, and becomes the command."""
    copies = "".join(f"cp -R /src/{n}/. {WORK}/ && " for n in range(len(job.layers)))
    bound = ["prlimit", f"--nproc={job.limits.pids}", "--"] if bound_processes else []
    return ["/bin/sh", "-c", f'{copies}echo {marker} >&2 && exec "$@"', "sh", *bound, *job.argv]


def _tmpfs(path: str, size_mb: int) -> list[str]:
    return ["--size", str(size_mb << 20), "--tmpfs", path]


def _system_links() -> Iterator[str]:
    """Yield arguments that provide `/bin` and similar folders: those that are links as links, the others as mounts."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for path in (Path("/etc/ld.so.cache"), Path("/etc/alternatives")):
        yield from ("--ro-bind-try", str(path), str(path))


def in_container() -> bool:
    """Check whether this process runs in a container, by the mark files of Docker and Podman."""
    return any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))


@contextlib.contextmanager
def memory_files(*contents: bytes) -> Iterator[list[int]]:
    """Create a file in memory for each of these contents. bubblewrap reads the files from their descriptors."""
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


def _explain(text: str, ended: Ended) -> str:
    """Return why bubblewrap did not start, with a remedy if one is known."""
    if in_container() and any(refusal in text for refusal in _REFUSALS):
        return f"{text}: {OPEN_CONTAINER}"
    if any(refusal in text for refusal in _REFUSALS[:2]):
        return (
            f"{text}: this system does not let bubblewrap make user namespaces. On Ubuntu 24.04 and later, give "
            "bubblewrap an AppArmor profile: put `abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) "
            "{ userns, }` into /etc/apparmor.d/bwrap and run `sudo systemctl reload apparmor`; on other systems, type "
            "`sudo sysctl kernel.unprivileged_userns_clone=1`"
        )
    return text or f"the sandbox did not start ({ended})"
