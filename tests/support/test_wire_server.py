"""Tests that the scripted model server keeps the promises of its docstring, on which the end-to-end tests depend."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException, IncompleteRead
from typing import Any

import pytest

from tests.support.wire_server import Reply, WireServer

PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}


def post(server: WireServer, api: str, *, stream: bool = False, timeout_s: float = 5, **more: Any) -> str:
    turns = [{"role": "system", "content": "Phase: CODING\nBe brief."}, {"role": "user", "content": "say it"}]
    body: dict[str, Any] = {"model": server.model, "messages": turns, "stream": stream, **more}
    if api == "anthropic":
        body |= {"system": turns[0]["content"], "messages": turns[1:]}
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(server.base_url + PATHS[api], json.dumps(body).encode(), head)
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("api", PATHS)
def test_every_api_is_told_the_phase_and_the_turns_in_the_same_form(api: str) -> None:
    seen: list[Any] = []

    def reply(phase: str, messages: list[dict[str, str]]) -> str:
        seen.append((phase, messages))
        return "one two three four five six"

    with WireServer(reply) as server:
        assert "one two three" in post(server, api)
        assert "five six" in post(server, api, stream=True)
        assert server.requests[0].api == api
    turns = [{"role": "system", "content": "Phase: CODING\nBe brief."}, {"role": "user", "content": "say it"}]
    assert seen == [("CODING", turns)] * 2


@pytest.mark.parametrize("api", PATHS)
def test_a_cut_stream_breaks_and_a_quiet_one_ends_without_its_last_event(api: str) -> None:
    last = {"openai": "[DONE]", "anthropic": "message_stop", "ollama": '"done": true'}[api]
    with WireServer(lambda _p, _m: "word " * 50) as server:
        server.fail_next("cut")
        with pytest.raises((IncompleteRead, HTTPException, ConnectionError)):
            post(server, api, stream=True)
        server.fail_next("quiet")
        assert last not in post(server, api, stream=True)
        assert last in post(server, api, stream=True)


def test_faults_come_in_order_fit_their_phase_and_are_used_up() -> None:
    with WireServer() as server:
        server.fail_next("500", phase="TESTING")
        server.fail_next("429", 2, retry_after=7)
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(server, "openai")
            assert (caught.value.code, caught.value.headers["Retry-After"]) == (429, "7")
            caught.value.close()
        assert "CODING reply" in post(server, "openai")
        assert [r.fault for r in server.requests] == ["429", "429", None]


def test_a_hanging_request_notices_that_its_client_left() -> None:
    with WireServer() as server:
        server.fail_next("hang")
        with pytest.raises(TimeoutError):
            post(server, "ollama", timeout_s=0.05)
        server.until(lambda: server.requests[0].gone)


def test_it_comes_back_on_the_same_port() -> None:
    with WireServer() as server:
        post(server, "openai")
        server.stop()
        with pytest.raises(urllib.error.URLError):
            post(server, "openai")
        server.start()
        assert "CODING reply" in post(server, "openai")


def test_a_script_that_fails_is_not_overlooked() -> None:
    def reply(phase: str, messages: list[dict[str, str]]) -> Reply:
        raise ValueError("a mistake in the test")

    with pytest.raises(AssertionError, match="script"), WireServer(reply) as server:  # noqa: PT012 - one story
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, "openai")
        caught.value.close()
