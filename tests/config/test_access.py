"""The cached address of the daemon equals the address that the daemon's settings give.

The cache is used only while no source of the settings changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from nightshift.client.session import access_to
from nightshift.config.access import Access, recall_access
from nightshift.config.load import Settings, load_access, load_settings
from nightshift.config.places import Places
from nightshift.core.errors import ConfigError

SECRET = "t" * 24


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the home of a daemon that has run; no environment variable sets anything."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "agent_logs.sqlite").touch()
    return tmp_path


def at(home: Path) -> Places:
    return Places(home=home)


SOURCES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "the file": ({"config.yaml": "flask_port: 5050\nflask_host: ::1\nworker_count: 7\n"}, {}),
    "the page over the file": (
        {"config.yaml": "flask_port: 5050\n", "settings.overrides.yaml": "flask_port: 6060\n"},
        {},
    ),
    ".env over the files": ({"config.yaml": "flask_port: 5050\n", ".env": "FLASK_PORT=7070\nexport A=b\n"}, {}),
    "a token in .env": ({".env": f"API_TOKEN={SECRET}\n"}, {}),
    "the environment over all": (
        {"config.yaml": "flask_port: 1\napi_token: no\n", ".env": "FLASK_PORT=7070\nAPI_TOKEN=neither\n"},
        {"FLASK_PORT": " 8080 ", "API_TOKEN": SECRET},
    ),
    "a variable in small letters": ({}, {"flask_port": "8181", "api_token": SECRET}),
    "a token that the daemon made": ({"state/token": f"{SECRET}\n"}, {"SANDBOX": "process"}),
    "text that is no ASCII": ({"config.yaml": "api_token: größer\n"}, {"NOTIFY_COMMAND": '["sag", "größer"]'}),
}


def observe(access: Access) -> tuple[object, ...]:
    return access.places, access.host, access.port, access.token, access.flask_host, access.flask_port


@pytest.mark.parametrize("case", SOURCES)
def test_the_remembered_access_is_that_of_all_settings(home: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    files, variables = SOURCES[case]
    for name, text in files.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    full_access = load_settings(home=home).access
    assert observe(load_access(at(home))) == observe(full_access)
    again = recall_access(at(home))
    assert (again is None) == (case == "a token in .env"), "what a .env says is read by its own library alone"
    assert again is None or observe(again) == observe(full_access)


CHANGES: Mapping[str, tuple[str, str]] = {
    "config.yaml": ("config.yaml", "worker_conut: 3\n"),
    "settings.overrides.yaml": ("settings.overrides.yaml", "max_retries: many\n"),
    ".env": (".env", "MAX_RETRIES=many\n"),
    "a variable": ("MAX_RETRIES", "many"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_fault_that_comes_later_is_reported_with_its_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    load_access(at(home))
    assert recall_access(at(home)) is not None
    name, text = CHANGES[what]
    if name.isupper():
        monkeypatch.setenv(name, text)
    else:
        (home / name).write_text(text)
    assert recall_access(at(home)) is None
    with pytest.raises(ConfigError, match=r"worker_count\?|max_retries \(MAX_RETRIES\)"):
        access_to(at(home))
    assert recall_access(at(home)) is None, "a fault is never remembered"


def test_the_token_stays_where_its_owner_wrote_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    load_access(at(home))
    file = at(home).access_file
    assert (file.stat().st_mode & 0o777, SECRET in file.read_text()) == (0o600, False)
    assert SECRET not in repr(recall_access(at(home)))


@pytest.mark.parametrize("text", ["{}", '{"names": 1, "known": {}}', "\xff"])
def test_a_damaged_file_is_read_as_none_and_written_anew(home: Path, text: str) -> None:
    load_access(at(home))
    at(home).access_file.write_text(text, encoding="latin-1")
    assert recall_access(at(home)) is None
    load_access(at(home))
    assert recall_access(at(home)) is not None
