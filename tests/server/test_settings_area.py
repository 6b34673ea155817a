"""Settings over the API: their descriptions, and changes that override config.yaml."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.config.catalogue import describe
from nightshift.config.load import NAMES, Settings, load_settings
from tests.support.settings_rig import SettingsRig, settings_served

KNOWN = describe(Settings)
SECRET = "sk-not-to-be-seen-0123456789"
CONFIG = f"""\
# The owner's own words.
worker_count: 2   # the fan
openai_api_key: {SECRET}
openai_base_url: http://127.0.0.1:9/v1
notify_on: [failed]
"""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SettingsRig]:
    with settings_served(tmp_path / "home", CONFIG) as rig:
        yield rig


def test_every_setting_is_told_with_what_it_is(rig: SettingsRig) -> None:
    shown = rig.shown()
    rows = {row["name"]: row for row in shown["settings"]}
    assert rows.keys() == NAMES
    assert all(row["text"] and row["group"] for row in rows.values())
    workers = rows["worker_count"]
    assert {name: workers[name] for name in ("value", "default", "origin", "takes", "kind", "least", "most")} == {
        "value": 2, "default": 3, "origin": "config.yaml", "takes": "live", "kind": "whole number",
        "least": 1, "most": 64,
    }  # fmt: skip
    assert (rows["task_timeout"]["unit"], rows["task_timeout"]["above"]) == ("s", 0)
    assert rows["notify_on"]["choices"] == ["done", "failed", "needs_you", "checkpoint", "trouble"]
    assert rows["flask_port"]["takes"] == "restart"
    assert (shown["file"], shown["overrides"], shown["faults"]) == (str(rig.file), str(rig.own_file), [])


def test_a_change_holds_at_once_and_the_owners_file_is_never_touched(rig: SettingsRig) -> None:
    got = rig.put({"worker_count": 5, "checkpoint_days": 3.5})
    assert (got.status, sorted(got.json["changed"]), got.json["later"]) == (
        200,
        ["checkpoint_days", "worker_count"],
        [],
    )
    assert rig.page == {"worker_count": 5, "checkpoint_days": 3.5}
    assert (rig.live.now.worker_count, rig.row("worker_count")["value"]) == (5, 5)
    assert (rig.row("worker_count")["origin"], rig.row("worker_count")["in_file"]) == ("page", "2")
    assert got.json["digest"] == rig.shown()["digest"]
    assert rig.put({"worker_count": None, "checkpoint_days": None}).status == 200
    assert (rig.live.now.worker_count, rig.live.now.checkpoint_days) == (3, 7)
    assert rig.page == {"worker_count": None}, "the default, whatever config.yaml says"
    assert rig.written == CONFIG


def test_what_is_taken_back_is_as_the_owners_file_says(rig: SettingsRig) -> None:
    assert rig.put({"worker_count": 5, "log_keep": 9}).status == 200
    got = rig.put({}, reset=["worker_count", "log_keep", "log_days"])
    assert (got.status, got.json["diff"]) == (200, ["-worker_count: 5", "-log_keep: 9"])
    assert (rig.live.now.worker_count, rig.live.now.log_keep, rig.page) == (2, 5, {})
    assert rig.row("worker_count")["origin"] == "config.yaml"
    assert rig.put({}, reset=["sandbox", "workr_count"]).json["fields"].keys() == {"sandbox", "workr_count"}


def test_an_owner_who_edits_what_the_page_overrules_is_told(rig: SettingsRig) -> None:
    assert rig.put({"worker_count": 5}).status == 200
    rig.file.write_text(CONFIG.replace("worker_count: 2", "worker_count: 4"))
    got = rig.send("POST", "/api/reload", {})
    assert (got.json["changed"], got.json["overruled"], rig.live.now.worker_count) == ([], ["worker_count"], 5)
    assert "worker_count: what the settings page has set overrules config.yaml" in rig.events[-1].message
    assert rig.row("worker_count")["in_file"] == "4"
    rig.file.write_text(CONFIG.replace("worker_count: 2", "worker_count: 5"))
    assert rig.send("POST", "/api/reload", {}).json["overruled"] == []


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"worker_count": 0}, "worker_count", "greater than or equal to 1"),
    ({"worker_count": "many"}, "worker_count", "valid integer"),
    ({"log_level": "LOUD"}, "log_level", "'DEBUG', 'INFO'"),
    ({"quiet_hours": ["22:00"]}, "quiet_hours", "22:00"),
    ({"model_prices": {"m": {"input_per_million_usd": -1, "output_per_million_usd": 1}}}, "model_prices", "m.input"),
    ({"model_max_tokens": 32768}, "model_max_tokens", "replies of up to 32768 tokens"),
    ({"model_type": "oracle"}, "model_type", "unknown backend 'oracle'"),
    ({"workr_count": 1}, "workr_count", "is not a setting"),
    ({"home": "/tmp"}, "home", "is not a setting"),
]


def test_a_wrong_value_is_refused_as_the_file_refuses_it(rig: SettingsRig) -> None:
    for changes, field, why in WRONG:
        got = rig.put({"task_timeout": 100, **changes})
        assert (got.status, why in got.json["fields"][field]) == (422, True), (changes, got.text)
    assert (rig.page, rig.live.now.task_timeout) == (None, 300)


def test_a_secret_is_taken_and_never_told(rig: SettingsRig) -> None:
    rig.own_file.write_text("log_keep: 6\n")
    rig.own_file.chmod(0o644)
    got = rig.put({"notify_secret": "hush-hush-hush", "openai_api_key": "sk-another-0123456789abcdef"})
    assert got.status == 200
    assert "+notify_secret: *** (new)" in got.json["diff"]
    assert rig.live.now.secrets == ("sk-another-0123456789abcdef", "hush-hush-hush")
    assert stat.S_IMODE(rig.own_file.stat().st_mode) == 0o600
    row = rig.row("notify_secret")
    assert (row["value"], row["next"], row["is_set"], row["origin"]) == (None, None, True, "page")
    everything = got.text + rig.client.get("/api/settings").text + rig.client.get("/api/status").text
    assert not [word for word in ("hush", SECRET, "sk-another") if word in everything]


def test_a_dry_run_tells_the_lines_and_writes_nothing(rig: SettingsRig) -> None:
    got = rig.put({"worker_count": 4, "openai_api_key": "x", "flask_port": 1}, dry_run=True)
    assert (got.json["changed"], got.json["later"]) == (
        ["openai_api_key", "worker_count"], [{"name": "flask_port", "holds": "5000"}],
    )  # fmt: skip
    assert got.json["diff"] == [
        "+worker_count: 4", "+openai_api_key: *** (new)", "+flask_port: 1",
    ]  # fmt: skip
    assert (rig.page, rig.live.now.worker_count) == (None, 2)
    assert rig.put({"worker_count": 4, "openai_api_key": "x"}).status == 200
    assert rig.put({"worker_count": 3, "openai_api_key": None}, dry_run=True).json["diff"] == [
        "-worker_count: 4", "+worker_count: 3", "-openai_api_key: ***", "+openai_api_key: null",
    ]  # fmt: skip
    wrong = rig.put({"worker_count": 0, "sandbox": "auto"}, dry_run=True)
    assert (wrong.status, wrong.json["faults"].keys(), wrong.json["diff"]) == (200, {"sandbox"}, [])


def test_nothing_is_written_where_somebody_changed_a_file_meanwhile(rig: SettingsRig) -> None:
    for file, text in ((rig.file, CONFIG + "task_timeout: 77\n"), (rig.own_file, "task_timeout: 78\n")):
        seen = rig.shown()["digest"]
        file.write_text(text)
        got = rig.put({"worker_count": 4}, digest=seen)
        assert (got.status, file.read_text()) == (409, text)
        assert "load them again" in got.json["fields"]["settings"]
    assert rig.put({"worker_count": 4}, digest=rig.shown()["digest"]).status == 200
    assert rig.page == {"task_timeout": 78, "worker_count": 4}


def test_a_file_with_faults_is_shown_with_them_and_can_be_mended(rig: SettingsRig) -> None:
    rig.file.write_text("worker_count: 0\n# kept\n")
    shown = rig.shown()
    assert "worker_count (WORKER_COUNT)" in shown["faults"][0]
    assert "worker_count" in rig.put({"task_timeout": 9}).json["fields"]
    assert rig.put({"worker_count": 1}).status == 200
    assert (rig.page, rig.shown()["faults"], rig.live.now.worker_count) == ({"worker_count": 1}, [], 1)


@pytest.mark.parametrize("name", ["config.yaml", "settings.overrides.yaml"])
def test_a_file_that_cannot_be_read_is_told_by_name_and_not_written_over(rig: SettingsRig, name: str) -> None:
    file = rig.home / name
    for text, why in (("worker_count: [\n", "cannot be read"), ("- a list\n", "must be a mapping")):
        file.write_text(text)
        got = rig.put({"worker_count": 1})
        assert (got.status, file.read_text()) == (422, text)
        assert why in got.json["fields"][name]
        assert why in rig.shown()["faults"][0]


@pytest.mark.parametrize("variable", ["WORKER_COUNT", "worker_count"])
def test_what_the_environment_fixes_is_shown_so_and_refused(
    rig: SettingsRig, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "7")
    row = rig.row("worker_count")
    assert (row["origin"], "unset it there" in row["fixed"]) == ("environment", True)
    got = rig.put({"worker_count": 4})
    assert (got.status, rig.page) == (422, None)
    assert "overrules all files" in got.json["fields"]["worker_count"]


def test_what_leads_out_of_the_sandbox_is_never_set_from_here(rig: SettingsRig) -> None:
    sound: dict[str, Any] = {
        "notify_command": ["/bin/sh"],
        "checker_rules": {},
        "checker_allow": {},
        "sandbox": "process",
    }
    for name, why in ((each.name, each.by_hand) for each in KNOWN.values() if each.by_hand):
        for value in (sound.get(name, "x"), None):
            got = rig.put({"worker_count": 9, name: value})
            assert (got.status, why in got.json["fields"][name]) == (422, True), name
    assert rig.page is None


def test_a_stored_key_is_not_led_to_another_address(rig: SettingsRig) -> None:
    got = rig.put({"openai_base_url": "http://attacker.test/v1"})
    assert (got.status, rig.page) == (422, None)
    assert "another address" in got.json["fields"]["openai_base_url"]
    assert rig.put({"openai_base_url": None}).status == 422
    both = {"openai_base_url": "http://other.test/v1", "openai_api_key": "its-own-key"}
    assert rig.put(both).status == 200
    assert rig.put({"openai_api_key": None}).status == 200
    assert rig.put({"openai_base_url": "http://third.test/v1"}).status == 200


def test_taking_back_does_not_lead_a_key_to_another_address_either(rig: SettingsRig) -> None:
    """Check that the owner's key in config.yaml is never sent to an address that was set on the page."""
    theirs = {"openai_base_url": "http://attacker.test/v1", "openai_api_key": "theirs"}
    assert rig.put(theirs).status == 200
    for alone in ("openai_api_key", "openai_base_url"):
        assert "another address" in rig.put({}, reset=[alone]).json["fields"]["openai_base_url"]
    assert rig.page == theirs
    assert rig.put({}, reset=list(theirs)).status == 200
    assert rig.live.now.secrets == (SECRET,)
    assert rig.live.now.openai_base_url == "http://127.0.0.1:9/v1"


def test_a_command_is_shown_without_its_arguments(rig: SettingsRig) -> None:
    rig.file.write_text(CONFIG + "notify_command: [curl, -H, 'X-Pass: not-for-all', http://h]\n")
    row = rig.row("notify_command")
    assert (row["next"], row["veiled"], "not-for-all" in json.dumps(row)) == (["curl", "…"], True, False)


def test_a_password_within_an_address_is_veiled(rig: SettingsRig) -> None:
    rig.put({"ollama_base_url": "http://me:pass-word@host:1/"})
    row = rig.row("ollama_base_url")
    assert ("pass-word" in json.dumps(row), row["veiled"]) == (False, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below, max_size=3),
    max_leaves=5,
)


LIVE = [name for name, each in KNOWN.items() if each.takes == "live"]


def test_whatever_is_sent_is_answered_and_what_is_taken_can_be_read_again(tmp_path: Path) -> None:
    with settings_served(tmp_path / "home", CONFIG) as rig:

        @given(st.dictionaries(st.sampled_from(sorted(Settings.model_fields)), JSON, min_size=1, max_size=2))
        @hypothesis.settings(max_examples=15, deadline=None)
        def sends(changes: dict[str, Any]) -> None:
            got = rig.put(changes)
            assert got.status in {200, 422}, got.text
            assert got.status == 200 or got.json["fields"]
            read = load_settings(home=rig.home)
            assert not [name for name in LIVE if getattr(read, name) != getattr(rig.live.now, name)]

        sends()


def test_nothing_of_a_refused_change_is_told_to_the_log(rig: SettingsRig) -> None:
    rig.put({"worker_count": 0, "notify_url": "not-an-address-but-secret"})
    assert not rig.events
