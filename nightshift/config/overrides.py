"""The overrides from the settings page: a small file of the daemon's own beside `config.yaml`, which it overrules.

It has a line for each setting that shall be another than `config.yaml` says, and is written whole. `null` stands for
the default. Without its line, what `config.yaml` says holds again.
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
# Written by Nightshift's settings page. It overrules config.yaml: remove a line here or on the page, and
# what config.yaml says holds again; null is the default.
"""
OWNER_ALONE = 0o600
_WIDE = 1 << 30


class ConfigChanged(ConfigError):
    """The files are no longer what they were when they were read."""

    def __init__(self) -> None:
        super().__init__(["settings: were changed meanwhile by somebody else: look at them again, then save once more"])


class _Dumper(yaml.SafeDumper):
    """PyYAML reads the settings, so PyYAML writes them; a text with line breaks in one line, with escapes."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(str, _text)


def line(name: str, value: Any) -> str:
    """The line of one setting."""
    text: str = yaml.dump(
        {name: value}, Dumper=_Dumper, default_flow_style=True, width=_WIDE, allow_unicode=True, sort_keys=False
    )
    return text.strip()[1:-1]


def text_of(overrides: Mapping[str, Any]) -> str:
    """The whole file."""
    return HEADER + "".join(f"{line(name, value)}\n" for name, value in overrides.items())


def change_overrides(
    overrides: Mapping[str, Any], in_file: Mapping[str, Any], values: Mapping[str, Any], reset: Collection[str]
) -> dict[str, Any]:
    """The overrides after a change; what `config.yaml` says anyway needs none.

    Args:
        overrides: those before.
        in_file: what `config.yaml` says.
        values: by name what they shall be; None is the default.
        reset: names whose lines go.
    """
    after = {name: value for name, value in overrides.items() if name not in reset}
    for name, value in values.items():
        if same(value, in_file.get(name)):
            after.pop(name, None)
        else:
            after[name] = value
    return after


def same(value: Any, other: Any) -> bool:
    """Whether two values are alike, whatever YAML may hold; 1, 1.0 and true differ."""
    return repr(value) == repr(other)


class OverridesFile:
    """The file, replaced only where it and `config.yaml` still are what was looked at.

    The digest is keyed anew in each process: one that anybody can compute would let those who see it try out short
    secrets.

    Args:
        path: it need not exist.
        config_file: the owner's, which is only read.
    """

    def __init__(self, path: Path, config_file: Path) -> None:
        self._path, self._config_file = path, config_file
        self._key = secrets.token_bytes(16)

    def digest(self) -> str:
        """Of both files as they are now.

        Raises:
            ConfigError: one of them cannot be read.
        """
        own, owners = _bytes(self._path), _bytes(self._config_file)
        raw = len(own).to_bytes(8) + own + owners
        return hashlib.blake2b(raw, key=self._key, digest_size=16).hexdigest()

    def replace(self, digest: str, text: str) -> None:
        """Put another text in its place, for the owner's eyes alone.

        Raises:
            ConfigChanged: the files are no longer those of the digest; nothing was written.
            ConfigError: it cannot be written.
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
