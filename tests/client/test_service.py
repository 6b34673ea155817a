"""`--install-service`, `--reload`, `--notify-test`, and the choice of the home."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from nightshift.app.commands.service import MARK, unit_path
from nightshift.client.session import places_of
from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.maintenance.instance_lock import InstanceLock
from tests.support.home import Home
from tests.support.receiver import receiving


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    for name in ("NIGHTSHIFT_HOME", "NIGHTSHIFT_LAYOUT"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    path.mkdir()
    return Home(path=path, capture=capsys)


# The systemd unit.


def test_a_dry_run_shows_the_unit_and_writes_nothing(home: Home) -> None:
    result = home.cli("--install-service", "--dry-run")
    assert result.code == 0
    assert result.out.startswith(MARK)
    assert f'Environment="NIGHTSHIFT_HOME={home.path}"' in result.out
    assert f'ExecStart="{sys.executable}"' in result.out
    assert "enable-linger" in result.err
    assert not unit_path().exists()


def test_it_is_written_renewed_and_removed(home: Home) -> None:
    result = home.cli("--install-service")
    assert (result.code, result.out.strip()) == (0, f"written: {unit_path()}")
    assert "systemctl --user enable --now nightshift.service" in result.err
    assert "TimeoutStopSec=60" in unit_path().read_text()
    (home.path / "config.yaml").write_text("drain_s: 100\n")
    assert home.cli("--install-service", "--json").json["written"] is True
    assert "TimeoutStopSec=140" in unit_path().read_text()
    assert "would be removed" in home.cli("--uninstall-service", "--dry-run").out
    assert unit_path().exists()
    assert home.cli("--uninstall-service").code == 0
    assert not unit_path().exists()
    assert "there is no unit" in home.cli("--uninstall-service").out


def test_the_unit_of_an_installed_nightshift_leads_to_the_same_folders(home: Home) -> None:
    result = home.run(
        "--install-service", "--dry-run", NIGHTSHIFT_HOME="", NIGHTSHIFT_LAYOUT="xdg", HOME=str(home.path)
    )
    assert 'Environment="NIGHTSHIFT_LAYOUT=xdg"' in result.out
    assert f'Environment="XDG_DATA_HOME={home.path}/.local/share"' in result.out


@pytest.mark.parametrize("action", ["--install-service", "--uninstall-service"])
def test_a_unit_of_somebody_elses_is_left_alone(home: Home, action: str) -> None:
    unit_path().parent.mkdir(parents=True)
    unit_path().write_text("[Service]\n")
    result = home.cli(action)
    assert result.code == 2
    assert "was not written by ./cli.py install-service" in result.err
    assert unit_path().read_text() == "[Service]\n"


# `--reload`.


def test_a_reload_lists_what_holds_and_what_waits(home: Home) -> None:
    with home.daemon():
        result = home.cli("--reload")
        assert (result.code, result.out.strip()) == (0, "changed: worker_count")
        assert "flask_port needs a restart; until then it stays 5000" in result.err
        assert "log_keep: what the settings page has set overrules config.yaml; remove it" in result.err
        assert home.cli("--reload", "--json").json["changed"] == ["worker_count"]


# Optional packages.


def test_optional_packages_are_installed_by_the_daemon(home: Home) -> None:
    with home.daemon():
        result = home.cli("--install-extra", "embedder")
        assert (result.code, result.out.strip()) == (
            0, "embedder is being installed; `./cli.py status` shows the progress",
        )  # fmt: skip
        assert home.cli("--install-extra", "docker").code == 5
        result = home.cli("--install-extra", "nothing")
        assert (result.code, "known are embedder, docker" in result.err) == (4, True)


# Notices.


def test_a_test_notice_goes_every_way_and_each_failure_is_printed(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "notice"
    code = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    with receiving() as receiver:
        (home.path / "config.yaml").write_text(
            json.dumps({"notify_command": [sys.executable, "-c", code], "notify_url": receiver.url})
        )
        result = home.cli("--notify-test")
        assert (result.code, result.out.splitlines()) == (0, ["notify_command: sent", "notify_url: sent"])
        assert json.loads(out.read_text())["kind"] == receiver.notices[0]["kind"] == "test"
        receiver.statuses = [403]
        result = home.cli("--notify-test")
        assert result.code == 1
        assert "notify_url: the URL answered with HTTP 403" in result.out


# The choice of the home folder.


def test_the_daemon_of_the_other_layout_is_found_by_its_lock(home: Home) -> None:
    assert places_of(None).folders is None
    installed = settings_at(find_places(layout="xdg"))
    with InstanceLock(installed.lock_file):
        assert places_of(None).db_path == installed.db_path
        assert places_of(home.path).home == home.path, "a home that is named is the one that is meant"
    assert places_of(None).folders is None
