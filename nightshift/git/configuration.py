"""Reads git's configuration of a checkout as git itself does, with `include`, `includeIf` and `config.worktree`.

Git reads the files, through GitPython: no other parser follows git's rules. Reading them starts no program. A file that
never ends, which a hostile repository may include, is given up after `LOOK_S`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Author
from nightshift.git import protocol

LOOK_S = 10.0
_OWNERS = frozenset({"system", "global"})
"""Scopes that a repository cannot write to."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The entries that hold for a checkout, as (scope, key, value), later ones first in rank.

    In a key the section's and the variable's name are in lower case, as git prints them.
    """

    entries: tuple[tuple[str, str, str], ...] = ()
    home: str = ""
    """The owner's home folder, for which `~` stands."""

    def value(self, *keys: str) -> str:
        """The value of the first of these keys that has one; empty where none has."""
        values = {key: value for _, key, value in self.entries}
        return next((values[key] for key in keys if values.get(key)), "")

    @property
    def author(self) -> Author:
        """The author of commits, by git's own order of names."""
        name, email = (self.value(f"author.{each}", f"user.{each}") for each in ("name", "email"))
        return Author(name=name or "Nightshift", email=email or "nightshift@localhost")

    @property
    def remote_url(self) -> str | None:
        """The address to push to: of the remote that the configuration prefers, else origin, else the only one."""
        remotes = {key[7:].rpartition(".")[0] for _, key, _ in self.entries if key.startswith("remote.")} - {""}
        name = self.value("remote.pushdefault") or (remotes.pop() if len(remotes) == 1 else "origin")
        return self.value(f"remote.{name}.pushurl", f"remote.{name}.url") or None

    def is_safe(self, root: Path) -> bool:
        """Tell whether the owner, and not the repository, says that git may trust this checkout (`safe.directory`).

        As git reads it: an empty value forgets those before it, `*` is every checkout, and `folder/*` those below.
        """
        values = list[str]()
        for scope, key, value in self.entries:
            if key == "safe.directory" and scope in _OWNERS:
                values = [*values, f"{self.home}{value[1:]}" if value.startswith("~/") else value] if value else []
        return any(
            value in {"*", str(root)} or (value.endswith("/*") and root.is_relative_to(value[:-2])) for value in values
        )


def read_configuration(root: Path, folder: Path, common: Path, environ: Mapping[str, str]) -> Configuration:
    """Read what holds for a checkout now.

    Args:
        root: the checkout.
        folder: the folder that git keeps for it.
        common: the folder that all its worktrees share.
        environ: the daemon's environment, which says where the owner's own files are.

    Raises:
        GitError: git cannot read it; holds git's words.
    """
    try:
        import git  # noqa: PLC0415  GitPython takes a tenth of a second to import and starts git
    except ImportError as error:  # what git says of the owner's own configuration
        raise GitError(f"repo: git cannot be started: {_words(error.__cause__ or error)}") from error
    # GitPython adds these to the process's own variables, which may be those of a hook.
    places = {"GIT_DIR": str(folder), "GIT_COMMON_DIR": str(common)}
    env = {**protocol.push_environment(environ), **places, "GIT_CONFIG_COUNT": "0", "GIT_CONFIG_PARAMETERS": ""}
    try:
        raw = git.Git(root).config(
            "--list", "--null", "--show-scope", env=env, stdout_as_string=False, kill_after_timeout=LOOK_S
        )
    except git.GitCommandError as error:
        raise GitError(f"repo: git cannot read the configuration of {root}: {_words(error)}") from error
    fields = [_text(field) for field in raw.split(b"\0")]
    pairs = [(scope, *entry.partition("\n")[::2]) for scope, entry in zip(fields[::2], fields[1::2], strict=False)]
    return Configuration(tuple(pairs), environ.get("HOME", ""))


def _words(error: BaseException) -> str:
    """Return git's words in one line."""
    return " ".join(str(getattr(error, "stderr", "")).removeprefix("\n  stderr: ").strip("'").split()) or str(error)


def _text(raw: bytes) -> str:
    """Decode bytes of git: UTF-8, else Latin-1, as in most old files."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
