"""Settings on the page can be tried before they are saved.

Backends are tried against a scripted server, and notices against a receiver.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nightshift.config.load import Settings
from tests.support.receiver import receiving
from tests.support.settings_rig import SettingsRig, settings_served
from tests.support.wire_server import WireServer

STORED = "sk-stored-key-0123456789"


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(models=("tiny-coder", "other")) as server:
        yield server


@pytest.fixture
def rig(tmp_path: Path, server: WireServer) -> Iterator[SettingsRig]:
    config = f"openai_api_key: {STORED}\nopenai_base_url: {server.openai_base_url}\n"
    with settings_served(tmp_path / "home", config) as rig:
        yield rig


def test_a_backend_that_answers_names_its_models(rig: SettingsRig, server: WireServer) -> None:
    got = rig.send("POST", "/api/models/test", {"backend": "openai"}).json
    assert (got["works"], got["model"], got["offered"]) == (True, "tiny-coder", ["other", "tiny-coder"])
    assert (got["latency_s"] > 0, got["reply_s"], server.requests) == (True, None, [])


def test_a_word_is_asked_for_only_where_that_is_wanted(rig: SettingsRig, server: WireServer) -> None:
    got = rig.send("POST", "/api/models/test", {"backend": "openai", "model": "other", "ask": True}).json
    assert (got["works"], got["model"], len(server.requests)) == (True, "other", 1)
    assert got["tokens_out"] > 0
    assert server.requests[0].headers["Authorization"] == f"Bearer {STORED}"
    server.fail_next("500")
    failed = rig.send("POST", "/api/models/test", {"backend": "openai", "ask": True}).json
    assert (failed["works"], "gave no reply" in failed["detail"]) == (False, True)


def test_one_that_is_down_or_refuses_the_key_says_the_mend_and_no_key(rig: SettingsRig, server: WireServer) -> None:
    typed = {"backend": "openai", "base_url": server.openai_base_url + "/", "key": "sk-typed-0123456789abc"}
    server.keys = {"right"}
    refused = rig.send("POST", "/api/models/test", typed)
    assert (refused.json["works"], "set OPENAI_API_KEY" in refused.json["detail"]) == (False, True)
    server.stop()
    down = rig.send("POST", "/api/models/test", typed)
    assert (down.json["works"], "does not answer" in down.json["detail"]) == (False, True)
    assert "OPENAI_BASE_URL" in down.json["fix"]
    assert not [word for word in ("sk-typed", STORED) if word in refused.text + down.text]


def test_the_stored_key_goes_to_no_other_address(rig: SettingsRig) -> None:
    with WireServer() as other:
        got = rig.send(
            "POST", "/api/models/test", {"backend": "openai", "base_url": other.openai_base_url, "ask": True}
        )
        assert "was not sent" in got.json["detail"]
        assert not [request for request in other.requests if STORED in str(request.headers)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"backend": "oracle"}, "backend"),
        ({"backend": "anthropic"}, "backend"),
        ({"backend": "openai", "base_url": "file:///etc/passwd"}, "base_url"),
    ],
)
def test_what_cannot_be_tried_is_refused_by_its_field(rig: SettingsRig, body: dict[str, str], field: str) -> None:
    got = rig.send("POST", "/api/models/test", body)
    assert (got.status, list(got.json["fields"])) == (422, [field])


def test_one_trial_at_a_time(rig: SettingsRig, server: WireServer) -> None:
    server.fail_next("hang")
    with ThreadPoolExecutor() as pool:
        first = pool.submit(rig.send, "POST", "/api/models/test", {"backend": "openai", "ask": True})
        server.until(lambda: server.requests)
        second = rig.send("POST", "/api/models/test", {"backend": "openai"})
        assert (second.status, second.headers["Retry-After"]) == (503, "5")
        server.stop()
        assert first.result().json["works"] is False


def test_a_notice_is_sent_to_the_typed_url_and_signed_with_the_typed_secret_alone(tmp_path: Path) -> None:
    with receiving() as stored, receiving() as typed:
        with settings_served(tmp_path / "home", f"notify_url: {stored.url}\nnotify_secret: stored-secret\n") as rig:
            assert rig.send("POST", "/api/notices/test", {}).json["ways"] == [{"way": "notify_url", "fault": ""}]
            rig.send("POST", "/api/notices/test", {"notify_url": typed.url})
            rig.send("POST", "/api/notices/test", {"notify_url": typed.url, "notify_secret": "typed"})
        assert ["X-Nightshift-Signature" in each for each in stored.headers] == [True]
        assert ["X-Nightshift-Signature" in each for each in typed.headers] == [False, True]
