"""Serves static files from memory, at addresses that change when a file changes.

The files are read once, when the server starts. The address of each file contains a digest of all files. A browser may
therefore cache each file forever and never mixes two versions: the modules of a page import each other by relative
addresses, under the same digest. A plain `/static/…` address works as well, but browsers must revalidate it each time.
This is an ASGI route outside Flask, because a page's dozens of small files should not queue for Flask's threads.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.server.auth.asgi import Receive, Refused, Scope, Send, header

FOLDER = Path(__file__).parent.parent / "static"
PREFIX = "/static/"
MEDIA = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
BASE = "base.css"
"""Style sheet shared by all pages. It joins four files, so that one request instead of four blocks the first paint."""
_PARTS = ("vendor/pico.css", "style.css", "app/parts.css", "app/queue.css")
_IMPORT = re.compile(r"""^\s*(?:import|export)\b[^'"();]*?from\s*['"](\.[^'"]+)['"]""", re.MULTILINE)
_VENDORED_IMPORT = re.compile(r"""\bfrom\s*"(\./[^"]+)\"""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A static file with the headers that it is served with."""

    body: bytes
    media: str
    etag: str


class Assets:
    """The static files of a folder.

    Args:
        folder: read recursively; files with a suffix that is not in `MEDIA` are ignored.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in MEDIA)
        files = {path.relative_to(folder).as_posix(): _asset(path.read_bytes(), path.suffix) for path in paths}
        files[BASE] = _asset(b"".join(files[name].body for name in _PARTS if name in files), ".css")
        self._files: Mapping[str, Asset] = files
        self._imported = dict[str, tuple[str, ...]]()
        listing = "\n".join(f"{name} {asset.etag}" for name, asset in self._files.items())
        self._version = f"v-{hashlib.sha256(listing.encode()).hexdigest()[:12]}"

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def url(self, name: str) -> str:
        """Return the versioned address of a file.

        Raises:
            KeyError: the file does not exist.
        """
        self._files[name]
        return f"{PREFIX}{self._version}/{name}"

    def modules(self, script: str) -> list[str]:
        """Return a script and all modules that it imports statically, directly or through other modules.

        Raises:
            KeyError: one of the modules does not exist.
        """
        all_modules, seen = [script], {script}
        for name in all_modules:
            new = [each for each in self._imports(name) if each not in seen]
            all_modules += new
            seen.update(new)
        return all_modules

    def _imports(self, name: str) -> tuple[str, ...]:
        """List the modules that a module imports directly. The list is cached, because pages share most modules."""
        if name not in self._imported:
            pattern = _VENDORED_IMPORT if name.startswith("vendor/") else _IMPORT
            named = pattern.findall(self._files[name].body.decode())
            paths = (posixpath.join(posixpath.dirname(name), each) for each in named)
            self._imported[name] = tuple(dict.fromkeys(map(posixpath.normpath, paths)))
        return self._imported[name]

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Serve the file at the request's address.

        Raises:
            Refused: there is no such file.
        """
        if scope["method"] not in {"GET", "HEAD"}:
            raise Refused(405, f"{scope['method']} is not possible here", headers=[(b"allow", b"GET, HEAD")])
        version, _, name = scope["path"].removeprefix(PREFIX).partition("/")
        is_lasting = version == self._version
        # After an update, an old page may request an old version. It gets the current file, which must not be cached
        # there.
        wanted = name if version.startswith("v-") else scope["path"].removeprefix(PREFIX)
        if not (asset := self._files.get(wanted)):
            raise Refused(404, "there is nothing at this address")
        await _serve(scope, send, asset, b"public, max-age=31536000, immutable" if is_lasting else b"no-cache")


def _asset(body: bytes, suffix: str) -> Asset:
    return Asset(body=body, media=MEDIA[suffix], etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"')


async def _serve(scope: Scope, send: Send, asset: Asset, keep: bytes) -> None:
    headers = [(b"etag", asset.etag.encode()), (b"cache-control", keep)]
    if header(scope, b"if-none-match") == asset.etag:
        await send({"type": "http.response.start", "status": 304, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return
    headers += [(b"content-type", asset.media.encode()), (b"content-length", str(len(asset.body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": asset.body if scope["method"] == "GET" else b""})
