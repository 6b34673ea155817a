"""Paths in the layout of an installed Nightshift."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.config.layout import xdg_folders
from nightshift.config.load import load_settings
from nightshift.config.places import place_is_given
from nightshift.core.errors import ConfigError

VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("NIGHTSHIFT_HOME", raising=False)
    monkeypatch.setenv("NIGHTSHIFT_LAYOUT", "xdg")
    return tmp_path


def test_each_kind_of_file_has_its_folder(folders: Path) -> None:
    (folders / "xdg_config_home" / "nightshift").mkdir(parents=True)
    (folders / "xdg_config_home" / "nightshift" / "config.yaml").write_text("worker_count: 7\n")
    (folders / "xdg_config_home" / "nightshift" / ".env").write_text("MAX_RETRIES=9\n")
    settings = load_settings()
    assert (settings.worker_count, settings.max_retries) == (7, 9)
    below = {
        "xdg_data_home": (
            settings.db_path,
            settings.workspace,
            settings.reports_dir,
            settings.tasks_file,
            settings.seal_file,
        ),
        "xdg_state_home": (settings.log_file, settings.state_file, settings.state_dir, settings.token_file),
        "xdg_cache_home": (settings.packages_dir,),
        "xdg_runtime_dir": (settings.port_file, settings.lock_file),
    }
    for folder, paths in below.items():
        assert all(path.is_relative_to(folders / folder / "nightshift") for path in paths), folder


def test_the_folders_are_made_for_their_owner_alone(folders: Path) -> None:
    load_settings().make_folders()
    own_folders = [folders / name.lower() / "nightshift" for name in VARIABLES]
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in own_folders)


def test_relative_and_empty_variables_count_as_unset(tmp_path: Path) -> None:
    folders = xdg_folders({"XDG_CONFIG_HOME": "etc", "XDG_DATA_HOME": ""}, tmp_path, uid=4_000_000_000)
    assert folders.config == tmp_path / ".config" / "nightshift"
    assert folders.data == tmp_path / ".local" / "share" / "nightshift"
    assert folders.cache == tmp_path / ".cache" / "nightshift"
    assert folders.runtime == folders.state / "run", "this user has no runtime folder"


@pytest.mark.usefixtures("folders")
def test_a_home_and_the_layout_contradict_each_other_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"NIGHTSHIFT_LAYOUT: xdg contradicts NIGHTSHIFT_HOME"):
        load_settings()
    assert place_is_given()
    monkeypatch.setenv("NIGHTSHIFT_LAYOUT", "home")
    assert load_settings().home == tmp_path


def test_the_lock_of_a_database_lies_beside_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "db").symlink_to(tmp_path / "real")
    assert load_settings(home=tmp_path / "home").db_lock_file == tmp_path / "real" / "agent_logs.sqlite.lock"
