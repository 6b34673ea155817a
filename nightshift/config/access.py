"""How the daemon of a home is reached, remembered from when the settings were last read and found sound.

To read the settings loads pydantic, which takes a process more time than all else that the status does. So what
the command line needs of them is kept in a file of the home, under a digest of all that they were read from: files,
variables, and the code that read them. While none of it has changed, the settings cannot have changed either, nor hold
a fault; where any has, `config.load.load_access` reads everything again, and every fault is reported. The digest would
let who sees it try out short secrets, and so the file is for its owner alone; the token itself is not in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.config.origins import Origin
from nightshift.config.places import Places
from nightshift.core.version import VERSION
from nightshift.storage.files.whole import write_whole

OWNER_ALONE = 0o600
FLASK_HOST, FLASK_PORT = "127.0.0.1", 5000
"""The address at which a daemon listens without settings."""
KEPT = 8
"""So many sets of sources are remembered: shells and services differ in their variables."""
_TOKEN = "api_token"  # noqa: S105  # the name of the setting
_CODE = tuple(sorted(Path(__file__).parent.glob("*.py")))
_FIELD = re.compile(r"^    ([a-z]\w*): ", re.MULTILINE)
_NO_SETTINGS = frozenset({"home", "folders"})
"""Fields of the settings that no file and no variable has (`config.places.Layout`)."""
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # read, never bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The address and the token of a home's daemon, from its settings and from its own notes."""

    places: Places
    flask_host: str
    flask_port: int
    api_token: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """The address to connect to."""
        return _LOOPBACK.get(self.flask_host, self.flask_host)

    @property
    def port(self) -> int:
        """The port that the daemon wrote down, which is the one it got where the setting asks for any free one."""
        try:
            return int(self.places.port_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return self.flask_port

    @property
    def token(self) -> str | None:
        """The token that the daemon asks for: the owner's, or the one in the file, where there is one."""
        if self.api_token:
            return self.api_token
        try:
            return self.places.token_file.read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None


def digest_of(places: Places, names: Collection[str]) -> str:
    """Of all that the settings of a home are read from.

    Args:
        places: of the home.
        names: of all settings.

    Raises:
        OSError: a file is there and cannot be read.
    """
    files = [_bytes(path) for path in (places.config_file, places.overrides_file, places.dotenv_file)]
    expands = b"${" in (files[-1] or b"")  # it may name any variable
    variables = sorted((name, value) for name, value in os.environ.items() if expands or name.lower() in names)
    code = [(path.name, (seen := path.stat()).st_mtime_ns, seen.st_size) for path in _CODE]
    return hashlib.blake2b(repr((VERSION, code, files, variables)).encode(), digest_size=16).hexdigest()


def recall_access(places: Places) -> Access | None:
    """The access to a home whose settings were found sound as they are now; None where all have to be read."""
    try:
        stored = json.loads(places.access_file.read_bytes())
        sound_settings = stored["known"][digest_of(places, frozenset(stored["names"]))]
        token = _owners_token(places, Origin(sound_settings[_TOKEN]))
        return Access(
            places=places,
            flask_host=sound_settings["flask_host"],
            flask_port=sound_settings["flask_port"],
            api_token=token,
        )
    except (OSError, ValueError, LookupError, TypeError):  # not there, not of this version, or not of these sources
        return None


def of_nothing_set(places: Places) -> Access | None:
    """The access by the defaults, which are sound, where no file and no variable sets anything; else None.

    A home that nobody has used yet remembers nothing.
    """
    files = (places.config_file, places.overrides_file, places.dotenv_file)
    if any(map(os.path.lexists, files)) or not names_in_code().isdisjoint(map(str.lower, os.environ)):
        return None
    return Access(places=places, flask_host=FLASK_HOST, flask_port=FLASK_PORT, api_token=None)


def names_in_code() -> frozenset[str]:
    """The names of all settings, and of some other fields, without importing them."""
    name_lists = (_FIELD.findall(path.read_text(encoding="utf-8")) for path in _CODE)
    return frozenset(name for names in name_lists for name in names) - _NO_SETTINGS


def remember(access: Access, names: Collection[str], digest: str, token: Origin) -> None:
    """Keep what was read, in a home that is in use already; where that fails, the next command reads it again.

    Args:
        access: what came of the settings, which are sound.
        names: of all settings.
        digest: of what they were read from, taken before they were; nothing is kept where it has changed since.
        token: where the owner's token stands; DEFAULT where there is none.
    """
    file = access.places.access_file
    with contextlib.suppress(OSError):
        in_use = access.places.db_path.exists()
        if token is Origin.DOTENV or not in_use or digest_of(access.places, names) != digest:
            return
        sound_settings = {"flask_host": access.flask_host, "flask_port": access.flask_port, _TOKEN: token}
        settings_by_digest = {**_read_known(file), digest: sound_settings}
        stored = {"names": sorted(names), "known": dict(list(settings_by_digest.items())[-KEPT:])}
        write_whole(file, json.dumps(stored), mode=OWNER_ALONE)


def _owners_token(places: Places, origin: Origin) -> str | None:
    """The token as its source has it, which is known to be sound."""
    if origin is Origin.ENVIRONMENT:
        return {name.lower(): value for name, value in os.environ.items()}[_TOKEN]
    if origin is Origin.FILE:
        import yaml  # noqa: PLC0415  # few have a token of their own

        return str(yaml.safe_load(places.config_file.read_text(encoding="utf-8"))[_TOKEN])
    return None


def _read_known(file: Path) -> dict[str, object]:
    try:
        return dict(json.loads(file.read_bytes())["known"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
