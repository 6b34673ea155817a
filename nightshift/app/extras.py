"""Extras: optional packages that the daemon installs when they are first needed.

Code that needs an extra calls `ensure`, on a thread that may wait. With `EXTRAS=auto` the packages are then installed
into the daemon's own environment, as wheels in the versions of `requirements/constraints.txt`. With `ask` they are
installed when the owner requests it (`install-extra`), and with `off` never. One extra is installed at a time. The
progress is read from uv's output.

No CUDA build is installed on a machine without a GPU. A dry run of uv shows whether NVIDIA's packages would be
installed. If so, PyTorch is installed from PyTorch's index of CPU builds (`--torch-backend cpu`). If that index cannot
be reached, the installation fails and the extra's status says so.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from nightshift.app import packages
from nightshift.config.load import Settings
from nightshift.config.places import ROOT
from nightshift.core.errors import ExtraMissing, UnknownExtra
from nightshift.core.events import Event, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.program import format_command
from nightshift.core.status import ExtraState, ExtraStatus, install_by_hand
from nightshift.core.text.masking import printable
from nightshift.verdict.environments.wheels import installers_environment

Policy = Literal["auto", "ask", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Optional packages, listed in `requirements/<name>.txt`.

    Attributes:
        modules: modules that can be imported once the packages are installed.
        purpose: purpose of the packages, worded as a part of a sentence.
        megabytes: approximate size on disk.
    """

    name: str
    modules: tuple[str, ...]
    purpose: str
    megabytes: int

    @property
    def is_installed(self) -> bool:
        """True if the extra's modules can be found; nothing is imported."""
        return all(find_spec(module) for module in self.modules)


EXTRAS = {
    extra.name: extra
    for extra in (
        Extra(
            name="embedder",
            modules=("sentence_transformers", "torch"),
            purpose="finding lessons by meaning",
            megabytes=1400,
        ),
        Extra(name="gpt4all", modules=("gpt4all",), purpose="models in files (GPT4All)", megabytes=215),
        Extra(name="llama_cpp", modules=("xllamacpp",), purpose="models in files (llama.cpp)", megabytes=120),
        Extra(name="docker", modules=("docker", "requests"), purpose="Docker as the sandbox", megabytes=5),
        Extra(
            name="hub",
            modules=("temporalio", "psycopg", "psycopg_pool", "cryptography"),
            purpose="many machines",
            megabytes=75,
        ),
        Extra(name="mcp", modules=("mcp",), purpose="assistants and editors (MCP)", megabytes=45),
    )
}
_CUDA = re.compile(r"^ \+ (?:nvidia-|cuda-|triton==)", re.MULTILINE)
_KEPT_LINES = 40


def _reason(lines: Iterable[str]) -> str:
    """Return the reason of a failure from uv's last lines."""
    stripped = [line.strip() for line in lines if line.strip()]
    marked = [line for line in stripped if line.startswith(("error:", "×", "cause:", "Caused by:"))]
    return printable("; ".join(marked or stripped[-1:]) or "no reason was given")[:300]


class ExtrasInstaller:
    """Installs extras, one at a time. Thread-safe; `ensure` blocks its thread.

    Args:
        policy: `auto` installs whatever is needed, `ask` only what the owner requests, and `off` nothing.
        emit: receives the events.
        environ: environment variables for uv, including indexes and proxies.
        root: the folder that contains `requirements/`.
        python: the interpreter into whose environment the extras are installed.
        extras: the available extras, by name.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        emit: Sink,
        environ: Mapping[str, str],
        root: Path,
        python: Path = Path(sys.executable),
        extras: Mapping[str, Extra] = EXTRAS,
    ) -> None:
        self._extras = extras
        self._policy, self._emit, self._environ, self._root, self._python = policy, emit, environ, root, python
        self._lock, self._install_lock = threading.Lock(), threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._states: dict[str, ExtraStatus] = {}
        self._here: set[str] = set()

    def statuses(self) -> tuple[ExtraStatus, ...]:
        """List all extras with their states."""
        return tuple(self._status(extra) for extra in self._extras.values())

    def ensure(self, name: str) -> None:
        """Return once the extra is installed; with the policy `auto` a missing extra is installed first.

        Raises:
            ExtraMissing: the extra is not installed, and cannot be installed now.
        """
        extra = self._extras[name]
        if self._has(extra):
            return
        if self._policy != "auto":
            raise ExtraMissing(self._advice(extra))
        self._install(extra)

    def install(self, name: str) -> None:
        """Install an extra in the background at the owner's request; `statuses` shows the progress.

        Raises:
            UnknownExtra: there is no extra of that name.
            ExtraMissing: the settings forbid installing it.
        """
        if name not in self._extras:
            raise UnknownExtra(name, self._extras)
        extra = self._extras[name]
        if self._policy == "off":
            raise ExtraMissing(self._advice(extra))
        threading.Thread(target=self._install_quietly, args=(extra,), name=f"install-{name}", daemon=True).start()

    def close(self) -> None:
        """Stop a running installation; it starts again when the extra is next needed."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()

    def _status(self, extra: Extra) -> ExtraStatus:
        with self._lock:
            status = self._states.get(extra.name)
        if status and status.state is ExtraState.INSTALLING:
            return status
        if self._has(extra):
            return _status(extra, ExtraState.INSTALLED)
        return status or _status(extra, ExtraState.MISSING, self._advice(extra))

    def _has(self, extra: Extra) -> bool:
        """Check whether an extra is installed; a positive result is cached, because the status is read often."""
        if extra.name not in self._here and extra.is_installed:
            self._here.add(extra.name)
        return extra.name in self._here

    def _advice(self, extra: Extra) -> str:
        if self._policy == "auto":
            return "installed on first use"
        asked = f"`{format_command(f'install-extra {extra.name}')}`, or " if self._policy == "ask" else ""
        return f"not installed (EXTRAS={self._policy}); {asked}{install_by_hand(extra.name)} installs it"

    def _install_quietly(self, extra: Extra) -> None:
        try:
            self._install(extra)
        except ExtraMissing:
            return  # the event and the status contain the reason

    def _install(self, extra: Extra) -> None:
        with self._install_lock:
            if extra.is_installed:  # another thread installed it meanwhile
                return
            self._set(_status(extra, ExtraState.INSTALLING, "beginning"))
            text = f"{extra.name} is being installed (about {extra.megabytes} MB): {extra.purpose}"
            self._emit(Event(kind=Kind.EXTRA_INSTALLING, message=text))
            try:
                self._run(extra)
            except ExtraMissing as error:
                self._set(_status(extra, ExtraState.FAILED, str(error)))
                self._emit(Event(kind=Kind.EXTRA_FAILED, level=Level.WARNING, message=f"{extra.name}: {error}"))
                raise
            self._set(_status(extra, ExtraState.INSTALLED))
            self._emit(Event(kind=Kind.EXTRA_INSTALLED, message=f"{extra.name} is installed: {extra.purpose}"))

    def _run(self, extra: Extra) -> None:
        if not packages.get_uv(self._python, self._environ):
            raise ExtraMissing(f"uv could not be installed, so install this yourself: {install_by_hand(extra.name)}")
        environ = packages.uv_environ(self._python, self._environ)
        wanted = [
            "-r",
            f"nightshift/requirements/{extra.name}.txt",
            "-c",
            "nightshift/requirements/constraints.txt",
            "--only-binary",
            ":all:",
        ]
        if not has_gpu() and _CUDA.search("\n".join(self._uv([*wanted, "--dry-run"], environ, None))):
            wanted += ["--torch-backend", "cpu"]
        self._uv(wanted, environ, extra)
        importlib.invalidate_caches()
        if not extra.is_installed:
            raise ExtraMissing(f"uv installed it, but {', '.join(extra.modules)} cannot be found")

    def _uv(self, words: Sequence[str], environ: Mapping[str, str], extra: Extra | None) -> Sequence[str]:
        """Run uv and return its last lines; the newest one is shown as the progress of `extra`."""
        argv, lines = [*packages.uv_install(self._python), *words], deque[str](maxlen=_KEPT_LINES)
        with self._lock:
            if self._closed:
                raise ExtraMissing("the daemon is stopping")
            self._process = process = subprocess.Popen(
                argv,
                env=dict(environ),
                cwd=self._root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        assert process.stdout
        with process:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if extra:
                    self._set(_status(extra, ExtraState.INSTALLING, printable(lines[-1].strip())[:200]))
        with self._lock:
            self._process = None
        if process.returncode:
            raise ExtraMissing("the daemon is stopping" if self._closed else f"uv failed: {_reason(lines)}")
        return lines

    def _set(self, status: ExtraStatus) -> None:
        with self._lock:
            self._states[status.name] = status


def make_extras(settings: Settings, emit: Sink) -> ExtrasInstaller:
    """Return the installer for the daemon's own environment, with the policy of the settings."""
    return ExtrasInstaller(
        settings.extras, emit=emit, environ=installers_environment(settings.process_environment), root=ROOT
    )


def _status(extra: Extra, state: ExtraState, detail: str = "") -> ExtraStatus:
    return ExtraStatus(name=extra.name, purpose=extra.purpose, megabytes=extra.megabytes, state=state, detail=detail)


def notices(extras: Iterable[ExtraStatus]) -> Iterator[str]:
    """Yield notices for the owner: extras that are being installed, and extras whose installation failed."""
    for each in extras:
        if each.state is ExtraState.INSTALLING:
            yield f"{each.name} is being installed, for {each.purpose}: {each.detail}"
        elif each.state is ExtraState.FAILED:
            yield f"{each.name} could not be installed, for {each.purpose}: {each.detail}"


def has_gpu() -> bool:
    """Check whether this machine has a GPU that CUDA can use."""
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidiactl").exists()
