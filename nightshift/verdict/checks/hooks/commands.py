"""A single shell command with its operands and options, and checks of the paths that commands name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Placeholder in a word for text that is only known at run time: an argument, or the output of another command."""
_HOME = re.compile(r"^(?:~[\w.-]*|\$HOME|\$\{HOME\})(?=/|$)")
# A command may change a named path below these folders. The folder itself, or a wildcard for everything in it, would
# also cover files of other programs.
_SCRATCH = ("/tmp/", "/var/tmp/", "/dev/shm/", "/work/")  # noqa: S108 - compared with only
_HARMLESS_DEVICES = frozenset({
    "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
})  # fmt: skip
_NO_DEVICES = ("/dev/shm/", "/dev/fd/")  # noqa: S108 - compared with only
_PRIVATE = re.compile(
    r"(?:(?:^|/)\.(?:ssh|aws|gnupg|kube|azure|password-store)(?:/|$))|(?:(?:^|/)\.(?:netrc|git-credentials|pgpass|pypirc)$)"
    r"|(?:(?:^|/)\.docker/config\.json$)|(?:(?:^|/)\.config/(?:gcloud|gh|1Password)(?:/|$))|(?:^/etc/(?:shadow|gshadow|sudoers)\b)"
    r"|(?:(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)$)|(?:^/proc/(?:\d+|self|\$\$)/(?:environ|mem)$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A simple shell command.

    Attributes:
        argv: the program and its arguments, without quotes. `$HOME`, `~` and wildcards stay unexpanded; unknown text is
            `UNKNOWN`.
        writes: the files that the output is redirected to.
        stdin: the text on standard input; empty if it is unknown.
        fed_by: the programs whose output the command reads through a pipe or receives as an argument.
        cwd: the folder that the command runs in; empty for the workspace.
        within: the names of the shell functions that contain the command.
        parallel: true if the command runs in the background or in a pipeline.
    """

    argv: tuple[str, ...]
    writes: tuple[str, ...] = ()
    stdin: str = ""
    fed_by: frozenset[str] = frozenset()
    cwd: str = ""
    within: frozenset[str] = frozenset()
    parallel: bool = False

    @property
    def program(self) -> str:
        """The program's name without its folder."""
        return PurePosixPath(self.argv[0]).name if self.argv else ""

    @property
    def args(self) -> tuple[str, ...]:
        """The arguments after the program."""
        return self.argv[1:]

    def operands(self, with_value: Collection[str] = ()) -> list[str]:
        """List the arguments that are neither options nor values of the options in `with_value`."""
        operand_words, words = list[str](), iter(self.args)
        for word in words:
            if word == "--":
                return [*operand_words, *words]
            if word in with_value:
                next(words, None)
            elif not word.startswith("-") or word == "-":
                operand_words.append(word)
        return operand_words

    def has(self, letters: str = "", *names: str) -> bool:
        """Check whether the command has one of these options.

        Args:
            letters: short options without their dash, such as `rf` for `-r` or `-f`; an argument may combine several.
            names: long options with their dashes, such as `--force`; a value after `=` is ignored.
        """
        return any(word in names for word in self._long()) or any(
            letter in letters for word in self._short() for letter in word
        )

    def _short(self) -> Iterator[str]:
        return (word[1:] for word in self._options() if not word.startswith("--"))

    def _long(self) -> Iterator[str]:
        return (word.partition("=")[0] for word in self._options() if word.startswith("--"))

    def _options(self) -> Iterator[str]:
        for word in self.args:
            if word == "--":
                return
            if word.startswith("-") and len(word) > 1:
                yield word


def outside(word: str, cwd: str = "") -> bool:
    """Check whether a path is certainly outside of the workspace, such as the root or a home folder.

    An unknown path counts as inside, because scripts that remove a folder like `$BUILD_DIR` are common. A named path
    below a scratch folder like `/tmp` counts as inside too.
    """
    if not word or word.startswith(UNKNOWN):
        return False
    if _HOME.match(word):
        return True
    if not word.startswith("/") and cwd:
        return outside(posixpath.join(cwd, word))
    path = posixpath.normpath(word)
    if path.startswith("//"):
        path = path[1:]
    if not path.startswith("/"):
        return path == ".." or path.startswith("../")
    if path in _HARMLESS_DEVICES or path.startswith("/dev/fd/"):
        return False
    return not any(path.startswith(folder) and _names(path[len(folder) :]) for folder in _SCRATCH)


def private(word: str) -> bool:
    """Check whether a path usually holds keys and passwords: `~/.ssh`, `/etc/shadow`, `.netrc` and the like."""
    return bool(_PRIVATE.search(_HOME.sub("", word) if _HOME.match(word) else posixpath.normpath(word or ".")))


def device(word: str) -> bool:
    """Check whether a path is a device through which data can be overwritten."""
    path = posixpath.normpath(word or ".")
    return path.startswith("/dev/") and path not in _HARMLESS_DEVICES and not path.startswith(_NO_DEVICES)


def _names(rest: str) -> bool:
    """Check whether the rest of a path, after its scratch folder, begins with a name rather than a wildcard."""
    return bool(rest.split("/", maxsplit=1)[0].strip("*?.")) if rest else False
