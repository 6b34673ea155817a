"""Downloads the modules that `go.mod` and `go.sum` name, with Go's own tools; nothing is built or executed.

Each module must match its digest in `go.sum`. Modules come only from a module proxy (the owner's or else the public
one), never directly from a repository by git or another program.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount
from nightshift.sandbox import orphans
from nightshift.sandbox.go_program import ENV, Go
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.store import limit_size
from nightshift.verdict.environments.wheels import INSTALL_S, Unreachable, call, installers_environment

INSIDE = "/opt/go-modules"
MOST_MB = 4096
"""Megabytes that the modules of one environment may use on disk."""
_FORMAT = "1"
_MOD, _SUM = "go.mod", "go.sum"
_PROXY = "https://proxy.golang.org"
_CLOSED = {"GONOPROXY": "none", "GOPRIVATE": "", "GOVCS": "*:off", "GOSUMDB": "off", "GOWORK": "off"}
_AWAY = ("dial tcp", "i/o timeout", "connection re", "no such host", "TLS handshake", "proxyconnect")


class GoModules:
    """Makes the Go part of environments (`verdict.environments.making.Maker`): a module cache.

    Args:
        go: the toolchain; with None, environments have no Go modules.
        environ: the variables with the module proxy (`GOPROXY`) and network proxies.
    """

    kind = "go"

    def __init__(self, go: Go | None, environ: Mapping[str, str]) -> None:
        self._go = go
        given = (proxy.strip() for proxy in environ.get("GOPROXY", "").replace("|", ",").split(","))
        proxies = [proxy for proxy in given if proxy and proxy not in {"direct", "off"}]
        self._environ = {**installers_environment(environ), **ENV, **_CLOSED, "GOPROXY": ",".join(proxies) or _PROXY}

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Read the `go.mod` and `go.sum` of a commit; None if one is missing, or if the modules are in `vendor/`."""
        folder = files.nearest((_MOD,))
        if self._go is None or folder is None or f"{folder}vendor/modules.txt" in files.paths:
            return None
        texts = {path: files.text(path) for path in (f"{folder}{_MOD}", f"{folder}{_SUM}")}
        declared_texts = {path: text for path, text in texts.items() if text is not None}
        return (
            Recipe(kind=self.kind, texts=declared_texts, parts=(_FORMAT,))
            if len(declared_texts) == len(texts)
            else None
        )

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Download the modules.

        Raises:
            Unreachable: the module proxy does not answer.
            SandboxError: the modules cannot be downloaded, or do not match `go.sum`.
        """
        assert self._go, "a recipe is made where there is a toolchain"
        with tempfile.TemporaryDirectory(prefix=orphans.prefix("go")) as scratch:
            await asyncio.to_thread(_write, Path(scratch), recipe.texts)
            own = {"GOROOT": self._go.root, "GOMODCACHE": str(folder), "GOFLAGS": "-modcacherw", "HOME": scratch}
            try:
                words = [self._go.path, "mod", "download"]
                work = call(words, {**self._environ, **own}, INSTALL_S, cwd=Path(scratch))
                done = await limit_size(work, folder, MOST_MB)
            except TimeoutError:
                raise SandboxError(f"downloading the Go modules took longer than {INSTALL_S:.0f} s") from None
            if done.code:
                error = Unreachable if any(word in done.stderr for word in _AWAY) else SandboxError
                raise error(f"modules of {next(iter(recipe.texts))} cannot be downloaded: {done.stderr.strip()[-600:]}")
            wanted = next(text for path, text in recipe.texts.items() if path.endswith(_SUM))
            if new := _lines(await asyncio.to_thread(Path(scratch, _SUM).read_text, "utf-8")) - _lines(wanted):
                raise SandboxError(f"go.sum does not list {min(new).rpartition(' ')[0]}; run `go mod tidy`")
        return Made(
            packages=dict(await asyncio.to_thread(_modules, folder)), more={"interpreter": f"Go {self._go.version}"}
        )

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:  # noqa: ARG002 (the interface)
        """Return the runtime with the modules mounted, so that builds find them offline."""
        return replace(
            runtime,
            mounts=(*runtime.mounts, Mount(host=folder, inside=INSIDE)),
            variables=(*runtime.variables, ("GOMODCACHE", INSIDE)),
        )


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (folder / path.rpartition("/")[2]).write_text(text, encoding="utf-8")


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip()}


def _modules(folder: Path) -> list[tuple[str, str]]:
    """List the modules of a cache, each with its version."""
    top = folder / "cache" / "download"
    archives = (path.relative_to(top).as_posix().partition("/@v/") for path in top.rglob("@v/*.zip"))
    return sorted((_unescape_name(name), version.removesuffix(".zip")) for name, _, version in archives)


def _unescape_name(name: str) -> str:
    """Return a module's path from its name in the cache, where `!a` means `A`."""
    parts = name.split("!")
    return parts[0] + "".join(part[:1].upper() + part[1:] for part in parts[1:])
