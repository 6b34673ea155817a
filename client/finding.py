"""Finds the home that is meant: the one that is named, else the one whose daemon runs, else the usual one.

A daemon may have been started in the other layout than this shell would choose (the service says
`NIGHTSHIFT_LAYOUT=xdg`, the shell says nothing): its lock tells.
"""

from __future__ import annotations

from pathlib import Path

from config import Settings, load_settings, place_is_given, user_folders
from maintenance.instance_lock import is_held


def settings_here(home: Path | None) -> Settings:
    """The settings of that home.

    Raises:
        ConfigError: they are wrong.
    """
    usual = load_settings(home=home)
    if home is not None or place_is_given() or usual.folders is not None or is_held(usual.lock_file):
        return usual
    if not is_held(user_folders().runtime / "lock"):
        return usual
    return load_settings(layout="xdg")
