"""Every setting says whether a running daemon takes it up."""

from config import Settings
from settings import live
from settings.live import TAKES


def test_every_setting_stands_in_the_table_once() -> None:
    listed = [*live._LIVE, *live._RESTART]
    assert sorted(listed) == sorted(set(listed)), "a setting stands in both sets"
    assert set(listed) == set(Settings.model_fields) == set(TAKES)
