"""The folders of an installed Nightshift, after the XDG base directory specification.

`platformdirs` knows this too, but reads the environment by itself, which here is `config`'s business alone, and what it
adds are other systems, which have no bubblewrap. The rest is a table of five rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAME = "nightshift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """One folder for each kind of file: settings, what is kept, what is noted, what can be had again, what is open."""

    config: Path
    data: Path
    state: Path
    cache: Path
    runtime: Path


def xdg_folders(environ: Mapping[str, str], user_home: Path, uid: int) -> Folders:
    """The folders of a user, none of them made yet.

    A variable that is unset, empty or relative counts as unset, as the specification (version 0.8) asks. Where a login
    gave no runtime folder (cron, `su`), the one that systemd keeps for the user is taken, else a part of the state.

    Args:
        environ: the variables.
        user_home: for the defaults.
        uid: the user's number.
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
