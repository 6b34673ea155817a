"""Starts the services that tests need, and waits until they are ready before any tested code runs.

This is part of the trusted parent. A service is a program of the system or of the environment, started by commands from
the base commit. It exchanges no data with the trusted parent: of our descriptors, it has only the pipe for its output.
If the kernel has Landlock, the service sees neither the workspace nor other files of the run, and can neither inspect
nor end the run's processes. Its files are in a separate folder. For each part of a run, it is started again with an
empty folder.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH110, PTH118, PTH208

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from .child import CHUNK, Ends, sweep

Service = Mapping[str, Any]

KEPT = 4000
"""Number of bytes that are kept of the beginning, and of the end, of a service's output."""
LOOK_S = 0.05
HIDDEN = frozenset({"work", "tmp", "dev"})
"""Folders at the root in which a service sees only what is made visible for it."""
_EXITING = 0x4
"""Flag of a process that is exiting (the kernel's PF_EXITING)."""
ALONE = "the isolation `process` has no network of its own to start it in; with SANDBOX=auto one is chosen that has"


class NotUp(Exception):
    """A service did not start. `answer` is the trusted parent's whole answer for the run in this case."""

    def __init__(self, fault: Mapping[str, str]) -> None:
        super().__init__(fault["why"])
        self.answer = {"service": fault}


class _Process:
    """A process that runs a command of a service, with a descriptor that signals its end, and an output pipe."""

    def __init__(self, command: str, folder: str, env: Mapping[str, str]) -> None:
        self.output, printing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(command, folder, env, printing)
        os.close(printing)
        os.set_blocking(self.output, False)
        self.ended = os.pidfd_open(self.pid)

    @property
    def is_over(self) -> bool:
        """True if the process has ended (even if its status was already read), or is about to end.

        On a busy machine, a killed process may not have ended yet when the run is over.
        """
        return bool(select.select([self.ended], [], [], 0)[0]) or _is_dying(self.pid)

    def status(self) -> int:
        """Wait for the process to end, and return its exit status."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def drain(self, output: Ends) -> bool:
        """Read some output, so that the process never blocks on the pipe; return False at the end of the output."""
        try:
            data = os.read(self.output, CHUNK)
        except BlockingIOError:
            return True
        output.extend(data)
        return bool(data)

    def close(self) -> None:
        """Close the descriptors of the process."""
        os.close(self.output)
        os.close(self.ended)

    def kill(self) -> None:
        """Kill the process and every process that is still in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


class Services:
    """The services of one run.

    Args:
        services: each in the form of `core.code.environments.Service`.
    """

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = services
        self._running: dict[str, tuple[_Process, Ends]] = {}
        self.gone: dict[str, str] = {}

    def __bool__(self) -> bool:
        """Return True if the run has services."""
        return bool(self._services)

    @property
    def processes(self) -> Collection[int]:
        """Process numbers of the running services. Processes that a service has started belong to it."""
        return [process.pid for process, _ in self._running.values()]

    def start(self) -> None:
        """Start the services one after the other. Each is started when the previous ones are ready.

        Raises:
            NotUp: a service did not start.
        """
        for service in self._services:
            output = Ends(KEPT)
            if why := ALONE if os.getpid() != 1 else self._start(service, output):
                raise NotUp({"name": service["name"], "why": why, "output": _text(output)})

    def _start(self, service: Service, output: Ends) -> str:
        """Start one service; return the reason if that fails, otherwise an empty string."""
        folder = os.path.join(_name_folder(), service["name"])
        os.makedirs(folder)
        env = {**os.environ, "DATA": folder, "HOME": folder, "TMPDIR": folder, **service["environment"]}
        if service["prepare"]:
            why = _finish(_Process(service["prepare"], folder, env), service["prepare_s"], output)
            if why:
                return f"its preparation {why}"
        if service["port"] and _answers(service["port"]):
            return f"port {service['port']} is taken by something else before it is started"
        process = _Process(service["start"], folder, env)
        self._running[service["name"]] = process, output
        return _wait_ready(process, service, _Readiness(service, folder, env, output), output)

    def watched(self) -> Iterable[int]:
        """Return the descriptors of the services' output. When they are readable, `take` must be called."""
        return [process.output for process, _ in self._running.values()]

    def take(self, ready: Collection[int], poll: select.poll) -> None:
        """Read the output of services. A pipe that has no writer any more is no longer watched."""
        for process, output in self._running.values():
            if process.output in ready and not process.drain(output):
                poll.unregister(process.output)

    def look(self) -> None:
        """Record services that have ended by themselves, because a run without its services proves nothing."""
        for name, (process, output) in self._running.items():
            if process.is_over and name not in self.gone:
                process.drain(output)
                self.gone[name] = _text(output)

    def end(self, spare: Collection[int] = ()) -> None:
        """End all services and every other process of the sandbox, except those in `spare`; remove their files."""
        if not self:
            return
        for process, _ in self._running.values():
            process.kill()
        if os.getpid() == 1:
            sweep({1, *spare})
        for process, _ in self._running.values():
            process.close()
        self._running.clear()
        import shutil  # noqa: PLC0415 (only where there are services)

        shutil.rmtree(_name_folder(), ignore_errors=True)

    def ended(self) -> dict[str, dict[str, str]]:
        """End all services. Return the part of the answer that names services which had ended before."""
        self.end()
        return {"gone": self.gone} if self.gone else {}


def start(job: dict[str, Any]) -> Services:
    """Start the services of a job and return them.

    The services are also stored in the job, where the code that watches children finds them.

    Raises:
        NotUp: a service did not start.
    """
    running = Services(job["services"])
    job["running"] = running
    running.start()
    return running


def _name_folder() -> str:
    """Return the folder that contains the folders of all services."""
    return os.path.join(os.environ.get("TMPDIR", "/tmp"), "services")  # noqa: S108 (the job's own)


def _text(output: Ends) -> str:
    head, tail = (end.decode("utf-8", "replace") for end in output.ends)
    return (head + tail)[-KEPT:]


def _finish(process: _Process, most_s: float, output: Ends) -> str:
    """Wait for a command to end; return the reason if it failed, otherwise an empty string."""
    over = _wait_end(process, time.monotonic() + most_s, output)
    process.kill()
    status = process.status()
    process.drain(output)
    process.close()
    if not over:
        return f"took longer than {most_s:g} s"
    return f"ended with {_read_output(status)}" if status else ""


def _read_output(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def _wait_end(process: _Process, until: float, output: Ends) -> bool:
    """Read the output of a process until it ends; return False if it does not end in time."""
    watched = [process.ended, process.output]
    while (left_s := until - time.monotonic()) > 0:
        ready = select.select(watched, [], [], left_s)[0]
        if process.output in ready and not process.drain(output):
            watched.remove(process.output)
        if process.ended in ready:
            return True
    return False


class _Readiness:
    """Checks whether a service is ready: by its port, by a command, or by its output."""

    def __init__(self, service: Service, folder: str, env: Mapping[str, str], output: Ends) -> None:
        self._service, self._folder, self._env, self._output = service, folder, env, output

    def is_there(self, until: float) -> bool:
        """Check once whether the service is ready. A command may run until the time `until`."""
        if self._service["port"]:
            return _answers(self._service["port"])
        if self._service["output"]:
            return any(self._service["output"].encode() in end for end in self._output.ends)
        asking = _Process(self._service["command"], self._folder, self._env)
        return not _finish(asking, max(LOOK_S, until - time.monotonic()), Ends(KEPT))


def _wait_ready(process: _Process, service: Service, readiness: _Readiness, output: Ends) -> str:
    """Wait until a service is ready; return the reason if that fails, otherwise an empty string."""
    until = time.monotonic() + service["start_s"]
    while time.monotonic() < until:
        if _wait_end(process, min(until, time.monotonic() + LOOK_S), output):
            process.drain(output)
            return (
                f"it ended with {_read_output(process.status())} before it was ready; it has to stay in the foreground"
            )
        if readiness.is_there(until):
            return ""
    return f"it was not ready within {service['start_s']:g} s"


def _answers(port: int) -> bool:
    """Check whether a process listens on a port of the loopback interface."""
    with socket.socket() as asking:
        asking.settimeout(1.0)
        return asking.connect_ex(("127.0.0.1", port)) == 0


def _is_dying(pid: int) -> bool:
    """Check whether a process is about to end: SIGKILL is pending (proc(5), field 31) or it is exiting (field 9)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123 (as above)
            fields = stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return bool(int(fields[28]) >> (signal.SIGKILL - 1) & 1 or int(fields[6]) & _EXITING)


def _become(command: str, folder: str, env: Mapping[str, str], printing: int) -> NoReturn:
    """Become a service's command, in a forked child. The child's copy of our memory disappears with that."""
    from . import landlock  # noqa: PLC0415 (only where there are services)

    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (printing, 1), (printing, 2)):
            os.dup2(source, target)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, and a program would inherit that
        os.chdir(folder)
        seen = [path for name in os.listdir("/") if name not in HIDDEN and os.path.exists(path := f"/{name}")]
        landlock.restrict_to((folder, "/dev"), seen)
        os.execve("/bin/sh", ["sh", "-c", command], dict(env))  # noqa: S606 (a command of the owner's)
    finally:
        os._exit(70)
