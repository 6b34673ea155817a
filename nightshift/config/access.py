"""Caches how to reach the daemon of a home, from the last time that the settings were read without a fault.

Reading the settings imports pydantic, which takes longer than everything else in the command `status`. So a file in the
home caches the settings that the command line needs. They are stored under a digest of everything that determines the
settings: files, variables, and the code that reads them. As long as the digest is the same, the settings are the same
and have no fault. If anything has changed, `config.load.load_access` reads all settings again and reports every fault.
Anyone who can read the digest could guess short secrets, so only the owner can read the file. The file does not contain
the token itself.
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
"""The address at which a daemon listens by default."""
KEPT = 8
"""Maximum number of cached entries, each for one digest. Several are needed, because shells and services have different
environment variables and so different digests.
"""
_TOKEN = "api_token"  # noqa: S105  # the name of the setting
_CODE = tuple(sorted(Path(__file__).parent.glob("*.py")))
_FIELD = re.compile(r"^    ([a-z]\w*): ", re.MULTILINE)
_NO_SETTINGS = frozenset({"home", "folders"})
"""Fields of the settings that neither a file nor a variable can set (`config.places.Layout`)."""
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # read, never bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The address and the token of a home's daemon, from its settings and from the files that the daemon writes."""

    places: Places
    flask_host: str
    flask_port: int
    api_token: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """The host at which a client reaches the daemon."""
        return _LOOPBACK.get(self.flask_host, self.flask_host)

    @property
    def port(self) -> int:
        """The port that the daemon wrote to its port file, or else the port of the settings.

        The two differ if the setting requests any free port.
        """
        try:
            return int(self.places.port_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return self.flask_port

    @property
    def token(self) -> str | None:
        """The token that the daemon requires, from the settings or else from the token file; None if both lack it."""
        if self.api_token:
            return self.api_token
        try:
            return self.places.token_file.read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None


def digest_of(places: Places, names: Collection[str]) -> str:
    """Return a digest of everything that determines the settings of a home.

    Args:
        places: The paths of the home.
        names: The names of all settings.

    Raises:
        OSError: A file exists and cannot be read.
    """
    files = [_bytes(path) for path in (places.config_file, places.overrides_file, places.dotenv_file)]
    expands = b"${" in (files[-1] or b"")  # The file may refer to any variable
    variables = sorted((name, value) for name, value in os.environ.items() if expands or name.lower() in names)
    code = [(path.name, (seen := path.stat()).st_mtime_ns, seen.st_size) for path in _CODE]
    return hashlib.blake2b(repr((VERSION, code, files, variables)).encode(), digest_size=16).hexdigest()


def recall_access(places: Places) -> Access | None:
    """Return the cached access to a home; None if the settings have changed and must be read again."""
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
    except (OSError, ValueError, LookupError, TypeError):  # Missing, of another version, or without the digest
        return None


def of_nothing_set(places: Places) -> Access | None:
    """Return the access that follows from the defaults, or None if any settings file or variable exists.

    This is for a home that has not been used yet and so has no cache.
    """
    files = (places.config_file, places.overrides_file, places.dotenv_file)
    if any(map(os.path.lexists, files)) or not names_in_code().isdisjoint(map(str.lower, os.environ)):
        return None
    return Access(places=places, flask_host=FLASK_HOST, flask_port=FLASK_PORT, api_token=None)


def names_in_code() -> frozenset[str]:
    """Read the names of all settings, and of some other fields, from the source code without importing it."""
    name_lists = (_FIELD.findall(path.read_text(encoding="utf-8")) for path in _CODE)
    return frozenset(name for names in name_lists for name in names) - _NO_SETTINGS


def remember(access: Access, names: Collection[str], digest: str, token: Origin) -> None:
    """Cache the access to the daemon, if the home already has a database.

    If writing fails, the next command reads the settings again.

    Args:
        access: The access that follows from settings without faults.
        names: The names of all settings.
        digest: The digest of the sources before they were read. Nothing is cached if it has changed since.
        token: The source of the owner's token; DEFAULT if there is none.
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
    """Read the owner's token from the source that `origin` names; the token was validated when the entry was cached."""
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
