"""Which paths of a command lie outside of the workspace that it runs in."""

from __future__ import annotations

import posixpath
import re

from checks.hooks.commands import UNKNOWN

_HOME = re.compile(r"^(?:~[\w.-]*|\$HOME|\$\{HOME\})(?=/|$)")
# A folder of one's own below these is nobody else's; the folder itself, or all that lies in it, is.
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


def outside(word: str, cwd: str = "") -> bool:
    """Tell whether a path surely lies outside: the root, a home, another folder than the workspace's own.

    What cannot be known counts as inside: a script that removes `$BUILD_DIR` is the rule, not the exception.
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
    """Tell whether a path is where keys and passwords lie: `~/.ssh`, `/etc/shadow`, `.netrc` and the like."""
    return bool(_PRIVATE.search(_HOME.sub("", word) if _HOME.match(word) else posixpath.normpath(word or ".")))


def device(word: str) -> bool:
    """Tell whether a path is a device that something can be overwritten through."""
    path = posixpath.normpath(word or ".")
    return path.startswith("/dev/") and path not in _HARMLESS_DEVICES and not path.startswith(_NO_DEVICES)


def _names(rest: str) -> bool:
    """Tell whether what follows a scratch folder is a name and not only a wild card."""
    return bool(rest.split("/", maxsplit=1)[0].strip("*?.")) if rest else False
