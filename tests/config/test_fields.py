"""Every setting has a heading and a description.

The description says when a change takes effect, and why some settings can be changed only in `config.yaml`.
"""

import re
from pathlib import Path

from nightshift.config.catalogue import describe
from nightshift.config.fields import Heading, Takes, headings, list_on_page
from nightshift.config.load import NAMES, Settings

DOCS = Path(__file__).parents[2] / "docs"
KNOWN = describe(Settings)
SHOWN = NAMES


def test_every_setting_stands_under_one_of_six_headings() -> None:
    assert headings(Settings).keys() == SHOWN
    assert list(dict.fromkeys(headings(Settings).values())) == list(Heading)
    assert len(Heading) == 6
    assert all(heading.text.endswith(".") for heading in Heading)


def test_the_page_always_shows_few_settings_and_each_exists() -> None:
    assert list_on_page(Settings) <= SHOWN
    assert len(list_on_page(Settings)) <= 45


def test_every_setting_tells_its_owner_what_it_is() -> None:
    texts = {name: each.text for name, each in KNOWN.items()}
    assert [name for name, text in texts.items() if not text.endswith(".") or "\n" in text] == []
    assert max(map(len, texts.values())) < 180


def test_the_list_for_owners_of_what_needs_a_restart_is_whole() -> None:
    """Check that the manual lists every setting that needs a restart.

    Two names of the list are environment variables that are not settings.
    """
    (sentence,) = re.findall(
        r"These need a restart[^\n]*?\. After a change", (DOCS / "manual" / "service.md").read_text()
    )
    listed = set(re.findall(r"`([A-Z_]+)`", sentence)) - {"NIGHTSHIFT_HOME", "NIGHTSHIFT_LAYOUT"}
    assert listed == {name.upper() for name, each in KNOWN.items() if each.takes is Takes.RESTART}


def test_the_list_for_owners_of_what_is_changed_by_hand_is_whole() -> None:
    page = (DOCS / "internals" / "security.md").read_text()
    (table,) = re.findall(r"\| changed in `config.yaml` alone \|.*?\n\n", page, re.DOTALL)
    listed = set(re.findall(r"`([A-Z_][A-Z0-9_]+)`", table))
    assert listed == {name.upper() for name, each in KNOWN.items() if each.by_hand}
