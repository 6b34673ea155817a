"""Every setting says whether a running daemon takes it up."""

import re
from pathlib import Path

from config import Settings
from settings import live
from settings.live import TAKES, Takes

SERVICE = Path(__file__).parents[2] / "docs" / "service.md"


def test_every_setting_stands_in_the_table_once() -> None:
    listed = [*live._LIVE, *live._RESTART]
    assert sorted(listed) == sorted(set(listed)), "a setting stands in both sets"
    assert set(listed) == set(Settings.model_fields) == set(TAKES)


def test_the_list_for_owners_of_what_needs_a_restart_is_whole() -> None:
    """Two settings go by the names of their variables, which are not theirs."""
    (sentence,) = re.findall(r"These need a restart[^\n]*?\. The table is", SERVICE.read_text())
    listed = re.findall(r"`([A-Z_]+)`", sentence)
    called = {"NIGHTSHIFT_HOME": "home", "NIGHTSHIFT_LAYOUT": "folders"}
    assert sorted(called.get(name, name.lower()) for name in listed) == sorted(
        name for name, takes in TAKES.items() if takes is Takes.RESTART
    )
