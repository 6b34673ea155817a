"""Quiet hours as settings.

They are read from a file or an environment variable. A rejected value is reported with the field's name and an example.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.config.load import load_settings
from nightshift.core.errors import ConfigError

NIGHT, WEEKEND = "22:00-07:00", "Sat,Sun 00:00-24:00"


@pytest.mark.parametrize("text", [f"{NIGHT}; {WEEKEND}", f' ["{NIGHT}", "{WEEKEND}"]'])
def test_a_variable_holds_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("QUIET_HOURS", text)
    assert load_settings(home=tmp_path).quiet_hours == [NIGHT, WEEKEND]


@pytest.mark.parametrize("text", ["never", "[22:00", "22:00-07:00; noon"])
def test_what_is_none_is_refused_by_name_with_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("QUIET_HOURS", text)
    with pytest.raises(ConfigError) as refused:
        load_settings(home=tmp_path)
    [fault] = refused.value.faults
    assert fault.startswith("quiet_hours.")
    assert "write `22:00-07:00`" in fault
