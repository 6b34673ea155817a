"""The owner's `config.yaml`: read with a digest, and replaced only where it still is what was read.

The digest is keyed anew in each process: one that anybody can compute would let those who see it try out short secrets.
"""

from __future__ import annotations

import hashlib
import secrets
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import yaml

from core.errors import ConfigError
from files.whole import write_whole
from settings.yaml_words import end_of

OWNER_ALONE = 0o600


class ConfigChanged(ConfigError):
    """The file is no longer what it was when it was read."""

    def __init__(self) -> None:
        super().__init__(["config.yaml: was changed meanwhile by somebody else: look at it again, then save once more"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the file says; nothing where there is none."""

    text: str
    digest: str


class ConfigFile:
    """One such file.

    Args:
        path: it need not exist.
        secret_names: settings whose values nobody else may read.
    """

    def __init__(self, path: Path, secret_names: Collection[str]) -> None:
        self._path, self._secret_names = path, frozenset(secret_names)
        self._key = secrets.token_bytes(16)

    def read(self) -> Config:
        """The file as it is now.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            raw = self._path.read_bytes()
            text = raw.decode()
        except FileNotFoundError:
            raw, text = b"", ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([f"config.yaml: cannot be read: {error}"]) from None
        return Config(text=text, digest=hashlib.blake2b(raw, key=self._key, digest_size=16).hexdigest())

    def replace(self, old: Config, text: str) -> None:
        """Put another text in its place; for the owner's eyes alone where a secret stands in it, or if it is new.

        A link is followed, so that it stays one.

        Raises:
            ConfigChanged: it is no longer the old one; nothing was written.
            ConfigError: it cannot be written.
        """
        path = self._path.resolve()
        if self.read().digest != old.digest:
            raise ConfigChanged()
        try:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else OWNER_ALONE
            write_whole(path, text.encode(), mode=mode & OWNER_ALONE if self._private(text) else mode)
        except OSError as error:
            raise ConfigError([f"config.yaml: cannot be written: {error.strerror or error}"]) from None

    def veiled(self, text: str, new: Collection[str] = ()) -> str:
        """The text with `***` for each secret, and `*** (new)` for those."""
        for key, value in reversed(_entries(text)):
            if key.value in self._secret_names:
                veil = "*** (new)" if key.value in new else "***"
                text = text[: value.start_mark.index] + veil + text[end_of(value, text) :]
        return text

    def _private(self, text: str) -> bool:
        return any(key.value in self._secret_names for key, _ in _entries(text))


def _entries(text: str) -> list[tuple[yaml.Node, yaml.Node]]:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    return node.value if isinstance(node, yaml.MappingNode) else []
