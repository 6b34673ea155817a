"""A local package index: the wheels of a folder, served over HTTP as pip and uv expect them."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from tests.support.wheelhouse import wheel


class PackageIndex:
    """Serves the files of a folder; `asked` lists the requested paths."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        folder.mkdir(exist_ok=True)
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path)
                index.asked.append(path)
                body = index._answer(path)
                self.send_response(200 if body is not None else 404)
                self.send_header("content-type", "text/html" if path.endswith("/") else "application/octet-stream")
                self.send_header("content-length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, name: str, version: str, files: dict[str, str], *, plugin: str = "") -> None:
        """Publish a pure Python package."""
        wheel(self.folder, name, version, files, plugin=plugin)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of installers that use this index and ignore the machine's settings."""
        address = f"http://127.0.0.1:{self.port}/simple/"
        return {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": address, "UV_DEFAULT_INDEX": address,
                "PIP_CONFIG_FILE": "/dev/null"}  # fmt: skip

    def _answer(self, path: str) -> bytes | None:
        if match := re.fullmatch(r"/simple/([a-z0-9-]+)/", path):
            files = [file.name for file in self.folder.iterdir() if file.name.split("-")[0].lower() == match[1]]
            links = "".join(f'<a href="/files/{name}">{name}</a>' for name in sorted(files))
            return f"<!DOCTYPE html><html><body>{links}</body></html>".encode() if files else None
        target = self.folder / path.removeprefix("/files/")
        return target.read_bytes() if path.startswith("/files/") and target.is_file() else None
