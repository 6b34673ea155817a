"""Every setting has a heading, a text and, where it is kept for the owner's hand, a reason."""

from config import Settings
from settings.by_hand import BY_HAND
from settings.groups import GROUPS
from settings.places import Places

SHOWN = Settings.model_fields.keys() - Places.model_fields.keys()


def test_every_setting_stands_under_one_heading() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(SHOWN)


def test_every_setting_tells_its_owner_what_it_is() -> None:
    texts = {name: Settings.model_fields[name].description or "" for name in SHOWN}
    assert [name for name, text in texts.items() if not text.endswith(".") or "\n" in text] == []
    assert max(map(len, texts.values())) < 180


def test_what_is_kept_for_the_owners_hand_is_a_setting() -> None:
    assert BY_HAND.keys() <= SHOWN
