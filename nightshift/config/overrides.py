"""The overrides from the settings page: a small file beside `config.yaml` that only the daemon writes.

The file has one line for each setting that differs from `config.yaml`, and is always written as a whole. `null` stands
for the default. When a line is removed, the value of `config.yaml` applies again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from nightshift.core.errors import ConfigError
from nightshift.storage.files.whole import write_whole

HEADER = """\
# Written by Nightshift's settings page. It overrules config.yaml: remove a line here or on the page
# to use the value of config.yaml again; null is the default.
"""
OWNER_ALONE = 0o600
_WIDE = 1 << 30


class ConfigChanged(ConfigError):
    """The files have changed since they were read."""

    def __init__(self) -> None:
        super().__init__(["settings: were changed meanwhile by somebody else: load them again, then save"])


class _Dumper(yaml.SafeDumper):
    """The YAML dumper of the file. It escapes line breaks, so that each text is one line."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(str, _text)


def line(name: str, value: Any) -> str:
    """Return the line of the file for one setting."""
    text: str = yaml.dump(
        {name: value}, Dumper=_Dumper, default_flow_style=True, width=_WIDE, allow_unicode=True, sort_keys=False
    )
    return text.strip()[1:-1]


def text_of(overrides: Mapping[str, Any]) -> str:
    """Return the text of the whole file."""
    return HEADER + "".join(f"{line(name, value)}\n" for name, value in overrides.items())


def change_overrides(
    overrides: Mapping[str, Any], in_file: Mapping[str, Any], values: Mapping[str, Any], reset: Collection[str]
) -> dict[str, Any]:
    """Return the overrides after a change; an override that repeats the value in `config.yaml` is left out.

    Args:
        overrides: The overrides before the change.
        in_file: The values in `config.yaml`.
        values: The new values by name; None stands for the default.
        reset: Names of the settings whose overrides are removed.
    """
    after = {name: value for name, value in overrides.items() if name not in reset}
    for name, value in values.items():
        if same(value, in_file.get(name)):
            after.pop(name, None)
        else:
            after[name] = value
    return after


def same(value: Any, other: Any) -> bool:
    """Check whether two values from YAML are equal; 1, 1.0 and true differ."""
    return repr(value) == repr(other)


class OverridesFile:
    """The overrides file. It is replaced only if this file and `config.yaml` have not changed since they were read.

    The digest uses a new random key in each process, because anyone who can compute the digest could guess short
    secrets from it.

    Args:
        path: The file, which need not exist.
        config_file: The owner's file, which is only read.
    """

    def __init__(self, path: Path, config_file: Path) -> None:
        self._path, self._config_file = path, config_file
        self._key = secrets.token_bytes(16)

    def digest(self) -> str:
        """Return a digest of the current content of both files.

        Raises:
            ConfigError: One of the files cannot be read.
        """
        own, owners = _bytes(self._path), _bytes(self._config_file)
        raw = len(own).to_bytes(8) + own + owners
        return hashlib.blake2b(raw, key=self._key, digest_size=16).hexdigest()

    def replace(self, digest: str, text: str) -> None:
        """Replace the file's text; only the owner can read the new file.

        Raises:
            ConfigChanged: The files no longer match the digest; nothing was written.
            ConfigError: The file cannot be written.
        """
        if self.digest() != digest:
            raise ConfigChanged()
        try:
            write_whole(self._path, text, mode=OWNER_ALONE)
        except OSError as error:
            raise ConfigError([f"{self._path.name}: cannot be written: {error.strerror or error}"]) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError([f"{path.name}: cannot be read: {error.strerror or error}"]) from None
