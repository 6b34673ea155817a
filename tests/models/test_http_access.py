"""Small JSON requests over HTTP: answers that are no API, certificates, proxies and this machine's names."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BackendSettings
from nightshift.models.chain import build_chain
from nightshift.models.http_access import fetch_json, is_loopback, load_authorities
from tests.support.wire_server import WireServer


@contextmanager
def serve_one(answer: bytes) -> Iterator[str]:
    """Send this answer to a single client, and hang up when the block ends."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(answer)
            over.wait()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/models"
    finally:
        over.set()
        thread.join(10)
        listener.close()


@pytest.mark.parametrize(
    ("body", "status", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<html>hello!", 200, "not JSON"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\nContent-Length: 0\r\n\r\n", 302, "302"),
        (b"nonsense\r\n\r\n", 0, "does not answer"),
        (b"", 0, "does not answer"),
    ],
)
def test_what_is_no_api_is_said_to_be_none(body: bytes, status: int, fault: str) -> None:
    with serve_one(body) as url:
        probe = fetch_json(url, {}, timeout_s=0.3)
    assert (probe.status, probe.is_unusable) == (status, True)
    assert fault in probe.fault


def make_authority(folder: Path) -> None:
    """Create a certificate authority, and a certificate from it for this machine."""

    def run(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    usage = "keyUsage=critical,keyCertSign,cRLSign"
    new = ("-newkey", "rsa:2048", "-nodes")
    run("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Own", "-addext", usage)
    run("req", *new, "-keyout", "s.key", "-out", "s.csr", "-subj", "/CN=localhost")
    (folder / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    run("x509", "-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-out", "s.pem", "-extfile", "ext")


class Tls(BaseHTTPRequestHandler):
    """A TLS server with minimal answers in the format of OpenAI."""

    protocol_version = "HTTP/1.0"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b'{"data": [{"id": "m"}]}', "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        self._answer(b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n", "text/event-stream")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)


async def test_what_is_looked_at_and_what_is_asked_trust_the_owners_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "s.pem", tmp_path / "s.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tls)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    base = f"https://localhost:{server.server_address[1]}"
    settings = BackendSettings(openai_base_url=f"{base}/v1")
    request = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),), max_tokens=9)
    try:
        for trusts in (False, True):
            load_authorities.cache_clear()
            if trusts:
                monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
            backend = build_chain(settings, model_type="openai", model_name="m")[0]
            assert await asyncio.to_thread(backend.is_available) == trusts
            if trusts:
                assert (await backend.generate(request)).text == "hello"
            else:
                assert "certificate" in backend.detail
            await backend.aclose()
    finally:
        load_authorities.cache_clear()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("kind", ["openai", "ollama", "anthropic"])
async def test_what_is_looked_at_and_what_is_asked_take_the_same_proxy(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer(models=["m"]) as server:
        for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", server.base_url)
        address = "http://models.example"
        settings = BackendSettings(
            openai_base_url=f"{address}/v1", anthropic_api_key="k", anthropic_base_url=address, ollama_base_url=address
        )
        backend = build_chain(settings, model_type=kind, model_name="m")[0]
        assert await asyncio.to_thread(backend.is_available), backend.detail
        request = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),), max_tokens=9)
        assert (await backend.generate(request)).text
        await backend.aclose()
        assert len(server.requests) == 1


@pytest.mark.parametrize("host", ["localhost", "[::1]", "0.0.0.0", socket.gethostname()])
def test_this_machine_is_known_by_each_of_its_names(host: str) -> None:
    assert is_loopback(f"http://{host}:8000/v1")
    assert not is_loopback("http://127.0.0.2:8000/v1")
