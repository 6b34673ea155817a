"""A hostile web page that the owner happens to visit: it attacks the services that listen on the owner's machine."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

ELSEWHERE = "elsewhere.test"
"""A host name that the tests' browser resolves to this machine, as a DNS rebinding attack would make it."""
IN_NETWORK = "workstation.local"
"""A host name that the tests' browser resolves to this machine, as the owner's network would."""
RULES = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1,MAP {IN_NETWORK} 127.0.0.1"

TRIES = """<!doctype html><title>a harmless page</title><h1>Kittens</h1>
<iframe name="hidden"></iframe>
<form id="plain" method="post" enctype="text/plain" target="hidden" action="TARGET/api/task">
  <input name='{"description": "by form as text", "x": "' value='"}'></form>
<form id="coded" method="post" target="hidden" action="TARGET/api/task">
  <input name="description" value="by form"></form>
<script>
const json = (how) => JSON.stringify({description: how});
const send = (how, options) => fetch('TARGET/api/task', {method: 'POST', body: json(how), ...options});
const tries = {
  'form as text': () => document.getElementById('plain').submit(),
  'form': () => document.getElementById('coded').submit(),
  'fetch as text': () => send('fetch as text', {mode: 'no-cors', headers: {'Content-Type': 'text/plain'}}),
  'fetch without type': () => send('fetch', {mode: 'no-cors', body: new Blob([json('fetch')])}),
  'fetch JSON': () => send('fetch JSON', {headers: {'Content-Type': 'application/json'}}),
  'fetch with cookies': () => send('cookies', {mode: 'no-cors', credentials: 'include'}),
  'beacon': () => navigator.sendBeacon('TARGET/api/task', json('beacon')),
  'beacon as JSON': () => navigator.sendBeacon('TARGET/api/task', new Blob([json('b')], {type: 'application/json'})),
  'pause': () => fetch('TARGET/api/pause', {method: 'POST', mode: 'no-cors'}),
  'image': () => new Promise((done) => {
    const image = new Image(); image.onload = image.onerror = done; image.src = 'TARGET/api/tasks'; }),
  'script': () => new Promise((done) => {
    const script = document.createElement('script');
    script.onload = script.onerror = done; script.src = 'TARGET/api/tasks'; document.body.append(script); }),
  'read': async () => { window.stolen = await (await fetch('TARGET/api/tasks')).text(); },
  'stream': () => new Promise((done) => {
    const source = new EventSource('TARGET/api/logs/stream?after=0');
    source.onmessage = (event) => { window.stolen = event.data; done(); }; source.onerror = done; }),
};
window.attack = async (name) => { try { await tries[name](); } catch { /* what is refused */ } return 'tried'; };
</script>"""
NAMES = (
    "form as text", "form", "fetch as text", "fetch without type", "fetch JSON", "fetch with cookies", "beacon",
    "beacon as JSON", "pause", "image", "script", "read", "stream",
)  # fmt: skip


class Site:
    """A server that serves the page and answers every other request with success; `reached` lists those requests."""

    def __init__(self) -> None:
        self.page, self.reached = "", list[str]()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("text/html", site.page if self.path == "/page" else "<p>framed</p>")

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._answer("application/json", "{}")

            def do_OPTIONS(self) -> None:
                self._answer("text/plain", "")

            def _answer(self, kind: str, text: str) -> None:
                if self.path != "/page":
                    site.reached.append(f"{self.command} {self.path}")
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Access-Control-Allow-Headers", "*")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
