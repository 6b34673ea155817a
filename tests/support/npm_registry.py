"""A local npm registry. npm uses it like the public registry, but no request leaves the machine."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote


class NpmRegistry:
    """Serves packages on its own port; `asked` lists the requested paths."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._archives = folder, dict[str, bytes]()
        self._versions, self.asked = dict[str, dict[str, Any]](), list[str]()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path).lstrip("/")
                registry.asked.append(path)
                body = registry._answer(path)
                self.send_response(200 if body is not None else 404)
                self.send_header("content-length", str(len(body or b"{}")))
                self.end_headers()
                self.wfile.write(body or b"{}")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environ(self) -> dict[str, str]:
        """The environment of an npm that uses this registry and ignores the machine's settings."""
        settings = {name: str(self._folder / name) for name in ("userconfig", "globalconfig", "cache")}
        own = {f"npm_config_{name}": value for name, value in {**settings, "registry": self.address}.items()}
        return {"PATH": os.environ["PATH"], "HOME": str(self._folder), **own}

    def add(self, name: str, version: str, files: Mapping[str, str], **manifest: Any) -> dict[str, Any]:
        """Publish a package, and return its entry for a lock file."""
        content = io.BytesIO()
        texts = {"package.json": json.dumps({"name": name, "version": version, **manifest}), **files}
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            for path, text in texts.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        raw = content.getvalue()
        location = f"{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        self._archives[location] = raw
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(raw).digest()).decode()}"
        dist = {"tarball": f"{self.address}{location}", "integrity": integrity}
        self._versions.setdefault(name, {})[version] = {"name": name, "version": version, **manifest, "dist": dist}
        return {"version": version, "resolved": f"https://registry.npmjs.org/{location}", "integrity": integrity}

    def _answer(self, path: str) -> bytes | None:
        if path in self._archives:
            return self._archives[path]
        versions = self._versions.get(path)
        if versions is None:
            return None
        latest = {"latest": max(versions)}
        return json.dumps({"name": path, "versions": versions, "dist-tags": latest}).encode()
