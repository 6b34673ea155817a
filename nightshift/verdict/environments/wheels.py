"""Resolves requirements to wheels with pip and installs them; nothing of a package is executed.

Only wheels are accepted: pip unpacks them, while a source distribution would run its `setup.py`. pip runs as a separate
process with a clean environment, which only contains the settings for the package index. Exactly the resolved wheels
are installed, checked by version and hash.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.text.masking import printable
from nightshift.sandbox import orphans
from nightshift.verdict.environments.distributions import requirement

RESOLVE_S, INSTALL_S, LOOK_UP_S = 180.0, 900.0, 60.0
_KEPT = re.compile(
    r"^(PATH|HOME|LANG|LC_ALL|TMPDIR|NETRC|XDG_(CONFIG|CACHE)_(HOME|DIRS)|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)"
    r"|REQUESTS_CA_BUNDLE|PIP_(INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY"
    r"|DEFAULT_TIMEOUT|CACHE_DIR|NO_CACHE_DIR|CONFIG_FILE|KEYRING_PROVIDER)|UV_[A-Z0-9_]+|NODE_EXTRA_CA_CERTS"
    r"|NPM_CONFIG_(REGISTRY|CA|CAFILE|CERT|KEY|PROXY|HTTPS?_PROXY|NOPROXY|STRICT_SSL|CACHE|USERCONFIG|GLOBALCONFIG"
    r"|FETCH_[A-Z_]+|MAXSOCKETS|REPLACE_REGISTRY_HOST|(@[a-z0-9._-]+:|//).*))$",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"connection broken by|NewConnectionError|ConnectTimeout|ReadTimeout|name resolution|Connection refused"
    r"|Network is unreachable|ProxyError|SSLError|HTTP error 5\d\d|5\d\d Server Error|Max retries exceeded"
)
_NOT_FOUND = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")


def installers_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that installers need: the index, proxies and their own settings, but no keys of models."""
    return {name: value for name, value in environ.items() if _KEPT.match(name)}


class Unobtainable(SandboxError):
    """Raised if a package has no fitting wheel, or if the wanted versions conflict.

    A wheel fits if it has the wanted name and version, and is for this Python.
    """


class Unreachable(SandboxError):
    """Raised if the package index does not answer, which may be temporary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel in the package index.

    Attributes:
        name: the distribution's name.
        version: the exact version.
        sha256: the hash of the file.
        summary: the distribution's own one-line description.
    """

    name: str
    version: str
    sha256: str
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    code: int
    stderr: str


class Wheels:
    """The package index, as pip sees it.

    Args:
        series: the Python that the wheels are for, as in `3.11`.
        environ: the variables with the index (proxies, pip's own settings); all others are ignored.
        pins: `name==version` of packages that are already installed; no other versions of them may be chosen.
    """

    def __init__(self, series: str, *, environ: Mapping[str, str], pins: Sequence[str] = ()) -> None:
        self.series, self._pins = series, tuple(pins)
        variables = installers_environment(environ)
        # Override settings of the owner that would install elsewhere.
        self._environ = {**variables, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PYTHONDONTWRITEBYTECODE": "1"}

    async def look_up(self, requirement: str) -> Wheel:
        """Return the wheel of one package, without its dependencies.

        Raises:
            Unobtainable, Unreachable, SandboxError: the errors of `resolve`.
        """
        (wheel,) = await self._resolve_wheels([requirement], ["--no-deps"], LOOK_UP_S)
        return wheel

    async def resolve(self, requirements: Sequence[str]) -> tuple[Wheel, ...]:
        """Return the wheels of these packages and all their dependencies, sorted by name.

        Raises:
            Unobtainable: one of them has no fitting wheel.
            Unreachable: the index does not answer.
            SandboxError: pip failed for another reason.
        """
        return await self._resolve_wheels(requirements, [], RESOLVE_S)

    async def pinned(self, packages: Mapping[str, str]) -> tuple[Wheel, ...]:
        """Return exactly these wheels, name to version; raises the errors of `resolve`."""
        exact = [f"{name}=={version}" for name, version in sorted(packages.items())]
        return await self._resolve_wheels(exact, ["--no-deps"], RESOLVE_S)

    async def install(self, wheels: Sequence[Wheel], target: Path) -> None:
        """Unpack exactly these wheels into a folder; raises the errors of `resolve`."""
        with tempfile.TemporaryDirectory(prefix=orphans.prefix("wheels")) as scratch:
            lock = _list_lines(
                scratch, [f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}" for wheel in wheels]
            )
            words = ["--no-deps", "--no-compile", "--require-hashes", "-r", lock]
            await self._pip([*self._install(target), *words], INSTALL_S)

    async def _resolve_wheels(
        self, requirements: Sequence[str], more: Sequence[str], wall_s: float
    ) -> tuple[Wheel, ...]:
        # Requirements may come from a git note that a third party wrote, and pip would also accept an address or a
        # folder.
        if wrong := [text for text in requirements if str(requirement(text)) != text]:
            raise Unobtainable(f"{wrong[0]!r} is not a valid package")
        with tempfile.TemporaryDirectory(prefix=orphans.prefix("wheels")) as scratch:
            report, pins = Path(scratch, "report.json"), _list_lines(scratch, self._pins)
            dry = ["--dry-run", "--ignore-installed", "--report", str(report), "-c", pins, *more]
            await self._pip([*self._install(Path(scratch, "none")), *dry, "--", *requirements], wall_s)
            return _read(report)

    def _install(self, target: Path) -> list[str]:
        quiet = ["-q", "--no-input", "--disable-pip-version-check", "--no-warn-conflicts", "--retries", "1"]
        fitting = ["--only-binary", ":all:", "--python-version", self.series]
        return ["install", *quiet, *fitting, "--target", str(target)]

    async def _pip(self, words: Sequence[str], wall_s: float, *, explained: bool = False) -> None:
        try:
            done = await call([sys.executable, "-I", "-m", "pip", *words], self._environ, wall_s)
        except TimeoutError:
            raise Unreachable(f"the package index took longer than {wall_s:g} s") from None
        if done.code == 0:
            return
        words = _last_words(done.stderr)
        if _AWAY.search(done.stderr):
            raise Unreachable(f"the package index does not answer: {words}")
        if (missing := _NOT_FOUND.search(done.stderr)) and not explained:
            raise Unobtainable(await self._why_missing(missing[1]))
        if "ResolutionImpossible" in done.stderr or "conflict" in words:
            raise Unobtainable(f"the required versions conflict: {words}")
        raise SandboxError(f"pip failed: {words}")

    async def _why_missing(self, name: str) -> str:
        """Return the reason why pip found no package: it has no wheel, or it does not exist.

        This method asks the package index again.
        """
        words = ["index", "versions", "-q", "--disable-pip-version-check", "--no-input", "--", name]
        try:
            await self._pip(words, LOOK_UP_S, explained=True)
        except SandboxError:
            return f"the package index has no package {name} with a suitable version"
        return f"the package {name} has no wheel for Python {self.series}; packages are never built from source"


async def call(argv: Sequence[str], environ: Mapping[str, str], wall_s: float, cwd: Path | None = None) -> _Done:
    """Run a trusted program to its end; a cancellation kills it.

    Raises:
        TimeoutError: it took longer than `wall_s`.
        SandboxUnready: it was ended by a signal that this process did not send.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=dict(environ),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(wall_s):
            _, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode and process.returncode < 0:
        raise SandboxUnready(f"{Path(argv[0]).name} was ended by {signal.Signals(-process.returncode).name}")
    return _Done(code=process.returncode or 0, stderr=printable(stderr))


def _list_lines(folder: str, lines: Sequence[str]) -> str:
    path = Path(folder, "list.txt")
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def _last_words(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return (lines or stderr.strip().splitlines() or ["pip gave no reason"])[-1][:300]


def _read(report: Path) -> tuple[Wheel, ...]:
    """Read pip's installation report (version 1), which lists what pip would install."""
    try:
        wheels = [_wheel(item) for item in json.loads(report.read_text())["install"]]
        if strange := [wheel.name for wheel in wheels if requirement(f"{wheel.name}=={wheel.version}") is None]:
            raise SandboxError(f"the package index returned an invalid package name: {strange[0]!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(f"pip's report cannot be read: {type(error).__name__}") from error
    return tuple(sorted(wheels, key=lambda wheel: wheel.name.lower()))


def _wheel(item: Mapping[str, Mapping[str, object]]) -> Wheel:
    metadata, archive = item["metadata"], item["download_info"]["archive_info"]
    assert isinstance(archive, dict)
    return Wheel(
        name=str(metadata["name"]),
        version=str(metadata["version"]),
        sha256=str(archive["hashes"]["sha256"]),
        summary=printable(str(metadata.get("summary", ""))).replace("\n", " ")[:200],
    )
