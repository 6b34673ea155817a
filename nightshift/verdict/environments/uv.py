"""Resolves requirements and installs wheels with uv; nothing of a package is executed, and nothing is built.

uv runs as a separate process with a clean environment and without any configuration of the repository: it gets the list
of packages from files that we write. If a package has no wheel, its name is read from uv's error, so that all other
packages can still be installed.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.sandbox import orphans
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.distributions import normalise
from nightshift.verdict.environments.locks import Declaration, Pinned
from nightshift.verdict.environments.store import limit_size
from nightshift.verdict.environments.wheels import (
    INSTALL_S,
    RESOLVE_S,
    Unobtainable,
    Unreachable,
    call,
    installers_environment,
)

_SETTINGS = {"UV_NO_CONFIG": "1", "UV_LINK_MODE": "copy", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
MOST_MB = 6144
"""Megabytes of disk for one environment."""
MOST_LEFT_OUT, MOST_SINGLE = 60, 60
"""Maximum number of packages that are left out, and of requirements that are tried one by one."""
_AWAY = re.compile(
    r"Failed to fetch|error sending request|dns error|Connection refused|timed out|tcp connect error|"
    r"Could not connect|HTTP status server error|request or response body error"
)
_NO_WHEEL = (
    re.compile(r"Wheels are required for `([A-Za-z0-9._-]+)`"),
    re.compile(
        r"Because (?:all versions of |only )?([A-Za-z0-9._-]+?)(?:[=<>!~]=?\S+)?"
        r"(?: is available and \S+)? ha(?:s|ve) no "
    ),
    re.compile(r"Because ([A-Za-z0-9._-]+) was not found in the (?:package registry|provided package locations|cache)"),
    re.compile(r"no wheels (?:with|for|are available for) [^`]*`?([A-Za-z0-9._-]+)"),
    re.compile(r"\b([A-Za-z0-9._-]+)==\S+ has no (?:usable wheels|wheels)"),
)
_HASH_FAULT = re.compile(r"Hash mismatch for `([A-Za-z0-9._-]+)==")


class Uv:
    """Resolves and installs packages for any interpreter.

    Args:
        program: the path of uv.
        prepare: installs uv on first use, and returns environment variables, of which only those for installers are
            used. Raises `SandboxError`.
    """

    def __init__(self, program: Path, prepare: Callable[[], Mapping[str, str]]) -> None:
        self._program, self._prepare = program, prepare
        self._prepared: tuple[list[str], dict[str, str]] | None = None

    def _ready(self) -> tuple[list[str], dict[str, str]]:
        """Return further arguments for uv, and its environment variables."""
        if self._prepared is None:
            variables = installers_environment(self._prepare())
            words = ["--no-index"] if variables.get("PIP_NO_INDEX", "0") not in {"", "0"} else []
            self._prepared = words, {**variables, **_SETTINGS}
        return self._prepared

    async def resolved(
        self, declaration: Declaration, runtime: Runtime, ours: Mapping[str, str], own: str = ""
    ) -> tuple[tuple[Pinned, ...], tuple[str, ...]]:
        """Resolve requirements to exact packages; return these packages, and remarks on what was left out.

        The result contains neither the repository's own package, whose name is `own`, nor the test libraries in `ours`.

        Raises:
            Unreachable: the index does not answer.
            SandboxError: nothing can be resolved.
        """
        excluded, remarks = {normalise(own): ""} if own else {}, list[str]()
        accepted, pinned = list[str](), tuple[Pinned, ...]()

        async def go_together(lines: Sequence[str]) -> tuple[Pinned, ...]:
            while True:
                try:
                    return await self._compile_lines(lines, declaration, runtime, ours, excluded)
                except Unobtainable as error:
                    name = _find_blamed(str(error))
                    if not name or name in excluded or len(excluded) >= MOST_LEFT_OUT:
                        raise
                    excluded[name] = f"{name} has no suitable wheel for Python {runtime.series}; it is left out"

        every = [line for group in declaration.groups for line in group]
        # Usually, all requirements fit together. If they conflict, they are added one by one in order of priority.
        for lines in (every, *([line] for line in every[:MOST_SINGLE] if len(every) > 1)):
            try:
                pinned = await go_together([*accepted, *lines])
            except Unobtainable as error:
                if len(lines) == 1:
                    remarks.append(f"{lines[0]} conflicts with the other requirements: {_short(error)}; it is left out")
                continue
            accepted += lines
            if lines is every:
                break
        return pinned, (*filter(None, excluded.values()), *remarks)

    async def _compile_lines(
        self, lines: Sequence[str], declaration: Declaration, runtime: Runtime, ours: Mapping[str, str],
        excluded: Mapping[str, str],
    ) -> tuple[Pinned, ...]:  # fmt: skip
        with tempfile.TemporaryDirectory(prefix=orphans.prefix("uv")) as scratch:
            wanted = [line for line in lines if normalise(re.split(r"[\[<>=!~ ]", line, maxsplit=1)[0]) not in excluded]
            overrides = [f"{name}=={version}" for name, version in ours.items()]
            files = {"in": wanted, "constraints": declaration.constraints, "overrides": overrides, "excludes": excluded}
            for name, content in files.items():
                _write(scratch, name, content)
            words = ["pip", "compile", "--python", runtime.python[-1], "--only-binary", ":all:", "--generate-hashes"]
            words += ["--no-header", "--no-annotate", "-q", "-c", "constraints.txt", "--overrides", "overrides.txt"]
            words += ["--excludes", "excludes.txt", "-o", "out.txt", "in.txt"]
            await self._run(words, RESOLVE_S, scratch, runtime)
            text = _read(scratch, "out")
        pins = [_read_pin(line, declaration.hashes) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
        return tuple(pin for pin in pins if pin and pin.key not in ours)

    async def install(
        self, pinned: Sequence[Pinned], runtime: Runtime, target: Path
    ) -> tuple[tuple[Pinned, ...], tuple[str, ...]]:
        """Unpack exact packages into a folder and check their hashes; return the installed packages, and remarks.

        A package is left out with a remark if it has no wheel, or if its content does not match the hashes in its lock.

        Raises:
            Unreachable: the index does not answer.
            SandboxError: the packages cannot be installed, or take too much space.
        """
        left, remarks = {package.key: package for package in pinned}, list[str]()
        while left:
            with tempfile.TemporaryDirectory(prefix=orphans.prefix("uv")) as scratch:
                _write(scratch, "lock", [package.line for package in left.values()])
                words = ["pip", "install", "--python", runtime.python[-1], "--target", str(target), "--no-deps"]
                words += ["--only-binary", ":all:", "--require-hashes", "-q", "-r", "lock.txt"]
                try:
                    await limit_size(self._run(words, INSTALL_S, scratch, runtime), target, MOST_MB)
                except Unobtainable as error:
                    name = _find_blamed(str(error))
                    if name not in left or len(remarks) >= MOST_LEFT_OUT:
                        raise SandboxError(f"packages cannot be installed: {_short(error)}") from error
                    gone = left.pop(name)
                    why = (
                        "content that differs from the hash in its lock"
                        if _HASH_FAULT.search(str(error))
                        else f"no wheel for Python {runtime.series}"
                    )
                    remarks.append(f"{gone.name} {gone.version} has {why}; it is left out")
                    continue
            break
        return tuple(left.values()), tuple(remarks)

    async def _run(self, words: Sequence[str], wall_s: float, folder: str, runtime: Runtime) -> None:
        more, environ = await asyncio.to_thread(self._ready)
        try:
            variables = dict(word.split("=", 1) for word in runtime.python if "=" in word)
            done = await call([str(self._program), *words, *more], {**environ, **variables}, wall_s, Path(folder))
        except TimeoutError:
            raise Unreachable(f"the package index took longer than {wall_s:g} s") from None
        if done.code == 0:
            return
        output = " ".join(re.sub(r"[│╰─▶×├]", " ", done.stderr).split())
        if _AWAY.search(output):
            raise Unreachable(f"the package index does not answer: {output[:300]}")
        raise Unobtainable(output[:3000])


def _write(folder: str, name: str, lines: Iterable[str]) -> None:
    Path(folder, f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def _read(folder: str, name: str) -> str:
    return Path(folder, f"{name}.txt").read_text()


def _find_blamed(output: str) -> str:
    """Return the package that uv's error blames first, by its name in normal form; empty if it blames none."""
    for pattern in (_HASH_FAULT, *_NO_WHEEL):
        if match := pattern.search(output):
            return normalise(match[1])
    return ""


def _short(error: Exception) -> str:
    return str(error)[:300]


def _read_pin(line: str, allowed: Mapping[str, tuple[str, ...]]) -> Pinned | None:
    match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)", line.strip())
    if not match:
        return None
    hashes = allowed.get(normalise(match[1])) or tuple(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return Pinned(name=match[1], version=match[2], hashes=hashes)
