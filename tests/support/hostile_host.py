"""Bait on the host for hostile programs: things that a program must not read, change, reach or harm.

The bait is open to every user, so that only the sandbox protects it from a program. Each run gets its own bait, so that
the bait's state afterwards shows the effects of that run alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.sandbox import launcher
from tests.support.git_repo import fingerprint
from tests.support.sandboxes import runtime

ENVIRONMENT_NAME = "NIGHTSHIFT_TEST_API_KEY"
SHOWN = "/opt/shown"
"""The path in the sandbox at which a folder of the host is mounted read-only."""
MEMORY = Path("/dev/shm")
_LIBC = ctypes.CDLL(None, use_errno=True)
_BAIT = (
    "import ctypes, os, sys, time; ctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0); os.close(0); "
    "os.open(sys.argv[1], os.O_RDONLY); os.unlink(sys.argv[1]); print('ready', flush=True); time.sleep(60)"
)


@dataclass
class Host:
    """The bait of one run. `secret` must not leak; a program proves with `token` that it ran."""

    folder: Path
    bare: Path
    secret: str
    mark: str = field(default_factory=lambda: f"mark-{secrets.token_hex(8)}")
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    challenge: str = field(default_factory=lambda: secrets.token_hex(8))
    facts: dict[str, str] = field(default_factory=dict)
    bait: subprocess.Popen[bytes] | None = None
    listeners: list[socket.socket] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)

    @property
    def canaries(self) -> Path:
        """The folder with the canaries: files that no program may change."""
        return self.folder / "canaries"

    def changed(self) -> list[str]:
        """List the files in the canaries' folder that were changed, removed or added."""
        after = fingerprint(self.canaries)
        return sorted(name for name in after.keys() | self.before.keys() if after.get(name) != self.before.get(name))

    def arrived(self) -> list[str]:
        """List the listeners that something reached."""
        return [str(listener.family) for listener in self.listeners if _visit(listener)]

    def harmed(self) -> list[str]:
        """List the changes in the state of the bait process."""
        if self.bait is None:
            return []
        now = _state(self.bait)
        return [f"{name}: {now.get(name)}" for name in self.before_bait if now.get(name) != self.before_bait[name]]

    before_bait: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def host(env_secret: str, *, bait: bool, in_memory: bool = False) -> Iterator[Host]:
    """Set up the bait, and remove it at the end.

    Args:
        env_secret: the secret in this process's environment, where the daemon has its keys.
        bait: also start a bait process, as the same user that jobs run as.
        in_memory: let a program that runs bare work in a folder in memory, because it will write much.
    """
    with tempfile.TemporaryDirectory(prefix="nightshift-hostile-", dir="/var/tmp", ignore_cleanup_errors=True) as path:
        below = MEMORY / Path(path).name if in_memory and MEMORY.is_dir() else Path(path)
        bait_host = Host(Path(path), below.with_name(f"{below.name}-bare"), secret=f"canary-{secrets.token_hex(16)}")
        bait_host.folder.chmod(0o777)
        with contextlib.ExitStack() as held:
            held.callback(_sweep, bait_host)
            _files(bait_host)
            _listen(bait_host, held)
            _share_memory(bait_host, held)
            if bait:
                held.enter_context(_process(bait_host, env_secret))
            bait_host.facts |= {"mark": bait_host.mark, "token": bait_host.token, "challenge": bait_host.challenge}
            _open_to_all(bait_host.folder)
            bait_host.before = fingerprint(bait_host.canaries)
            yield bait_host


def _files(bait_host: Host) -> None:
    home, canaries, secret = bait_host.folder / "home", bait_host.folder / "canaries", bait_host.secret
    texts = {home / ".ssh/id_ed25519": f"key = {secret}\n", bait_host.folder / "state/token": secret}
    texts |= {canaries / "note.txt": "whole\n", canaries / "runtime/json.py": "# mine\n"}
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if os.geteuid() == 0:  # lets a program make files as the owner of the set-uid program
        shutil.copy("/usr/bin/touch", canaries / "runtime/touch")
    bait_host.facts |= {
        "home": str(home), "secret_file": str(bait_host.folder / "state/token"), "canary": str(canaries / "note.txt"),
        "canaries": str(canaries), "places": f"{canaries / 'runtime'}:{SHOWN}", "folder": str(bait_host.folder),
    }  # fmt: skip


def _open_to_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    if (program := folder / "canaries/runtime/touch").exists():
        program.chmod(0o4755)


def _listen(bait_host: Host, held: contextlib.ExitStack) -> None:
    kinds: dict[str, tuple[int, tuple[str, int] | str]] = {
        "tcp": (socket.AF_INET, ("0.0.0.0", 0)),
        "unix": (socket.AF_UNIX, str(bait_host.folder / "control.sock")),
        "abstract": (socket.AF_UNIX, f"\0{bait_host.mark}"),
    }
    for name, (family, address) in kinds.items():
        listener = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.setblocking(False)
        listener.bind(address)
        listener.listen()
        bait_host.listeners.append(listener)
        bound = listener.getsockname()
        bait_host.facts[name] = str(bound[1]) if isinstance(bound, tuple) else os.fsdecode(bound).replace("\0", "@")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        bait_host.facts["free_port"] = str(free.getsockname()[1])


def _visit(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _share_memory(bait_host: Host, held: contextlib.ExitStack) -> None:
    file = Path("/dev/shm", bait_host.mark)
    file.write_text(bait_host.secret)
    file.chmod(0o666)
    held.callback(file.unlink, missing_ok=True)
    key = secrets.randbelow(1 << 30) + 1
    segment = _LIBC.shmget(key, 4096, 0o1666)
    _LIBC.shmat.restype = ctypes.c_void_p
    address = _LIBC.shmat(segment, None, 0)
    ctypes.memmove(address, bait_host.secret.encode(), len(bait_host.secret))
    _LIBC.shmdt(ctypes.c_void_p(address))
    held.callback(_LIBC.shmctl, segment, 0, None)
    left_key = secrets.randbelow(1 << 30) + (1 << 30)
    held.callback(_forget, left_key)
    bait_host.facts |= {"shm_file": file.name, "ipc_key": str(key), "left_key": str(left_key)}


def _forget(key: int) -> None:
    """Remove the shared memory that a program left under this System V key."""
    _LIBC.shmctl(_LIBC.shmget(key, 0, 0), 0, None)


@contextlib.contextmanager
def _process(bait_host: Host, env_secret: str) -> Iterator[None]:
    """Run a process that holds the secret in its environment, memory, command line and an unlinked open file."""
    hidden = bait_host.folder / "state/hidden"
    hidden.write_text(bait_host.secret)
    user = launcher.job_uid()
    for path in (bait_host.folder / "state", hidden):
        path.chmod(0o777)
    argv = [*runtime().python, "-I", "-S", "-B", "-c", _BAIT, str(hidden), bait_host.secret]
    env = {"API_KEY": bait_host.secret, ENVIRONMENT_NAME: env_secret}
    changed = {"user": user, "group": user, "extra_groups": ()} if os.geteuid() == 0 else {}
    process = subprocess.Popen(
        argv,
        env=env,
        cwd=bait_host.folder / "state",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        **changed,  # type: ignore[call-overload]
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        bait_host.bait, bait_host.facts["bait"] = process, str(process.pid)
        bait_host.before_bait = _state(process)
        yield
    finally:
        process.kill()
        process.communicate()


def _state(process: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return the parts of a process's state that other processes can change.

    These are whether it has ended or is stopped, its nice value, its limits and its processors.
    """
    if process.poll() is not None:
        return {"ended": str(process.returncode)}
    stat = Path("/proc", str(process.pid), "stat").read_text().rpartition(")")[2].split()
    limits = Path("/proc", str(process.pid), "limits").read_text()
    files = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    allowed = sorted(os.sched_getaffinity(process.pid))
    return {"stopped": str(stat[0] in "tT"), "nice": stat[16], "files": files, "processors": str(allowed)}


def list_marked_processes(mark: str) -> list[int]:
    """List the ids of running processes that have this text in their command lines. Zombies are left out."""
    pids, word = list[int](), mark.encode()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 (pathlib takes ten times as long)
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # noqa: PTH123 (as above)
            if word in file.read() and int(name) != os.getpid():
                pids.append(int(name))
    return pids


def _sweep(bait_host: Host) -> None:
    """Kill and remove everything that a program left on the host."""
    for pid in list_marked_processes(bait_host.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for folder in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")):
        for path in folder.glob(f"*{bait_host.mark}*"):
            path.unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", str(bait_host.bare)], check=True)  # Python's `rmtree` fails on deep trees
