"""The webhook endpoint accepts signed requests, with or without a token, and no requests from web pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nightshift.core.errors import HookRefused
from nightshift.server.routes.forges import HOOK_PATH
from nightshift.server.serving.listen import Listen
from tests.support.app_context import make_desk, serving


def test_a_hook_needs_its_signature_and_no_token(tmp_path: Path) -> None:
    taken: list[bytes] = []

    def hook(headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        if headers.get("x-gitlab-token") != "right":
            raise HookRefused("the webhook's signature is missing or wrong")
        taken.append(body)
        return ("https://github.com/octo/hello",)

    context = replace(make_desk(tmp_path), forge_hook=hook)
    with serving(context, Listen(port=0, token="a long token for tests")) as client:
        sent = {"Content-Type": "application/json", "X-Gitlab-Token": "right"}
        got = client.request("POST", HOOK_PATH, b'{"x": 1}', sent)
        assert (got.status, got.json) == (200, {"looking_at": ["https://github.com/octo/hello"]})
        assert client.request("POST", HOOK_PATH, b"not json", {**sent, "Content-Type": "text/plain"}).status == 200
        assert taken == [b'{"x": 1}', b"not json"]
        refused = client.request("POST", HOOK_PATH, b"{}", {**sent, "X-Gitlab-Token": "wrong"})
        assert (refused.status, "signature" in refused.json["error"]) == (403, True)
        assert client.request("POST", HOOK_PATH, b"{}", {**sent, "Origin": "https://evil.example"}).status == 403
        assert client.request("POST", HOOK_PATH, b"x" * 70_000, sent).status == 413
        assert len(taken) == 2
    context.database.close()
