"""The folders of an installed Nightshift, which follow the XDG base directory specification.

The package `platformdirs` is not used, because it reads the environment, which only `config` may do in Nightshift. It
also supports other systems, but Nightshift does not run there, because they have no bubblewrap. For Linux alone, a
table of five rows is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAME = "nightshift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """One folder for each kind of file: settings, data, logs and state, caches, and files of a running daemon."""

    config: Path
    data: Path
    state: Path
    cache: Path
    runtime: Path


def xdg_folders(environ: Mapping[str, str], user_home: Path, uid: int) -> Folders:
    """Return the folders of a user; none of them is created.

    A variable that is empty or relative counts as unset, as the specification (version 0.8) requires. A session without
    a runtime folder (cron, `su`) falls back to the folder that systemd keeps for the user, or else to a folder below
    the state folder.

    Args:
        environ: The environment variables.
        user_home: The user's home folder, for the defaults.
        uid: The user's numeric id.
    """

    def base(variable: str, default: Path) -> Path:
        given = Path(environ.get(variable) or "")
        return given if given.is_absolute() else default

    state = base("XDG_STATE_HOME", user_home / ".local" / "state") / NAME
    logins = Path("/run/user") / str(uid)
    runtime = base("XDG_RUNTIME_DIR", logins if logins.is_dir() else Path())
    return Folders(
        config=base("XDG_CONFIG_HOME", user_home / ".config") / NAME,
        data=base("XDG_DATA_HOME", user_home / ".local" / "share") / NAME,
        state=state,
        cache=base("XDG_CACHE_HOME", user_home / ".cache") / NAME,
        runtime=runtime / NAME if runtime.is_absolute() else state / "run",
    )
