"""Reads git's configuration of a checkout as git does, with `include`, `includeIf` and `config.worktree`.

Git itself reads the files, through GitPython, because no other parser follows git's rules. Reading them starts no other
program. A hostile repository may include a file that never ends, so reading stops after `LOOK_S` seconds.
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
"""Scopes of the configuration that a repository cannot write to."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration entries of a checkout, as (scope, key, value); later entries override earlier ones.

    In a key, the names of the section and the variable are in lower case, as git prints them.
    """

    entries: tuple[tuple[str, str, str], ...] = ()
    home: str = ""
    """The owner's home folder, which replaces `~` in values."""

    def value(self, *keys: str) -> str:
        """Return the value of the first of these keys that has a value; empty if none has."""
        values = {key: value for _, key, value in self.entries}
        return next((values[key] for key in keys if values.get(key)), "")

    @property
    def author(self) -> Author:
        """The author of commits, chosen by git's own order of precedence."""
        name, email = (self.value(f"author.{each}", f"user.{each}") for each in ("name", "email"))
        return Author(name=name or "Nightshift", email=email or "nightshift@localhost")

    @property
    def remote_url(self) -> str | None:
        """The address to push to if no branch is known."""
        return self.push_url("")

    def push_url(self, branch: str) -> str | None:
        """Return the address to push to: that of the remote that git would choose on a branch (short name).

        If nothing is configured, this is the only remote, or else origin. A configured remote that this repository does
        not have is passed over.
        """
        remotes = {key[7:].rpartition(".")[0] for _, key, _ in self.entries if key.startswith("remote.")} - {""}
        wanted = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
        names = (name for name in map(self.value, wanted) if name in remotes)
        name = next(names, next(iter(remotes)) if len(remotes) == 1 else "origin")
        return self.value(f"remote.{name}.pushurl", f"remote.{name}.url") or None

    def is_safe(self, root: Path) -> bool:
        """Return True if the owner, not the repository, marks this checkout as trusted (`safe.directory`).

        As in git, an empty value clears earlier values, `*` matches every checkout, and `folder/*` matches the
        checkouts below a folder.
        """
        values = list[str]()
        for scope, key, value in self.entries:
            if key == "safe.directory" and scope in _OWNERS:
                values = [*values, f"{self.home}{value[1:]}" if value.startswith("~/") else value] if value else []
        return any(
            value in {"*", str(root)} or (value.endswith("/*") and root.is_relative_to(value[:-2])) for value in values
        )


def read_configuration(root: Path, folder: Path, common: Path, environ: Mapping[str, str]) -> Configuration:
    """Read the current configuration of a checkout.

    Args:
        root: The checkout.
        folder: The folder with git's data for the checkout.
        common: The folder that all worktrees of the repository share.
        environ: The daemon's environment, which gives the location of the owner's own files.

    Raises:
        GitError: Git cannot read the configuration; the message contains git's text.
    """
    try:
        import git  # noqa: PLC0415  GitPython takes a tenth of a second to import and starts git
    except ImportError as error:  # GitPython runs git when it is imported
        raise GitError(f"repo: git cannot be started: {_words(error.__cause__ or error)}") from error
    # GitPython adds these variables to the process's own variables, which may come from a git hook.
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
    """Return git's message in one line."""
    return " ".join(str(getattr(error, "stderr", "")).removeprefix("\n  stderr: ").strip("'").split()) or str(error)


def _text(raw: bytes) -> str:
    """Decode git's output as UTF-8, or else as Latin-1, the encoding of most old files."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
