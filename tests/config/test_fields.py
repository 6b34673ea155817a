"""Every setting has a heading and a description.

The description says when a change takes effect, and why some settings can be changed only in `config.yaml`.
"""

import re
from pathlib import Path

from nightshift.config.catalogue import describe
from nightshift.config.fields import Takes
from nightshift.config.load import Settings

DOCS = Path(__file__).parents[2] / "docs"
KNOWN = describe(Settings)


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
