"""Git's command line: the arguments and the input of each command, and the parsing of its output. No I/O.

Nothing in a repository's configuration, its hooks or the daemon's environment may run a program or change a byte. So
git gets its own environment, and settings that override every setting that names a program. Every command about content
runs in a folder of ours: a repository without any configuration that only borrows the objects (see git/repository.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from nightshift.core.tasks.commit_message import home_of, task_of
from nightshift.core.tasks.revisions import LogLine
from nightshift.git.objects import Edit

OLDEST = (2, 38)
"""The oldest supported version of git: the first with `git merge-tree --write-tree`, which merges without a checkout.
"""

_OFF = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null", "core.sshCommand=false", "core.gitProxy=false", "core.askPass=", "core.pager=cat",
    "core.editor=false", "core.alternateRefsCommand=", "core.autocrlf=false", "core.eol=lf", "core.quotePath=false",
    "core.precomposeUnicode=false", "credential.helper=", "diff.external=", "diff.ignoreSubmodules=all",
    "submodule.recurse=false", "fetch.recurseSubmodules=false", "push.recurseSubmodules=no", "commit.gpgSign=false",
    "tag.gpgSign=false", "push.gpgSign=false", "log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false",
    "gpg.x509.program=false", "gc.auto=0", "maintenance.auto=false", "merge.conflictStyle=merge",
    "notes.displayRef=",
    # Every call names its repository. Git must not discover another: files in a tree may look like a bare repository.
    "safe.bareRepository=explicit",
)  # fmt: skip
# A commit must survive a power failure. One flush for all objects of a command (since git 2.36) costs little.
_DURABLE = ("core.fsync=loose-object,reference", "core.fsyncMethod=batch")
# Milliseconds that git itself waits for a lock before it gives up; our code does not retry after that.
_PATIENT = ("core.filesRefLockTimeout=10000", "core.packedRefsTimeout=10000")
SETTINGS = tuple(part for setting in (*_OFF, *_DURABLE, *_PATIENT) for part in ("-c", setting))
"""Arguments for every git command on a repository."""
PUSH_OPTIONS = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--no-recurse-submodules")
PUSH_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "push.gpgSign=false", "-c", "push.recurseSubmodules=no",
                 "-c", "safe.bareRepository=explicit")  # fmt: skip
RECEIVE_PACK = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c receive.autogc=false receive-pack"
"""Command that git runs for a remote that is a folder on this machine. Its hooks are switched off, because they would
run with the daemon's rights.
"""

_FIXED = {
    "LC_ALL": "C", "LANGUAGE": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat", "GIT_EDITOR": "false", "GIT_ASKPASS": "true", "SSH_ASKPASS_REQUIRE": "never",
    "GIT_AUTHOR_NAME": "Nightshift", "GIT_AUTHOR_EMAIL": "nightshift@localhost",
    "GIT_COMMITTER_NAME": "Nightshift", "GIT_COMMITTER_EMAIL": "nightshift@localhost",
}  # fmt: skip
_PERSONAL = (
    "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_CONFIG_GLOBAL", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
)  # fmt: skip


def private_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for all commands except pushes.

    It allows no configuration and no transports, and has only the daemon's PATH.
    """
    path = {name: environ[name] for name in ("PATH",) if name in environ}
    return {**path, **_FIXED, "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ALLOW_PROTOCOL": "none"}


def push_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pushes.

    It allows the owner's configuration and credentials, but no repository's configuration.
    """
    own = {name: environ[name] for name in ("PATH", *_PERSONAL) if name in environ}
    fixed = {name: value for name, value in _FIXED.items() if name != "GIT_CONFIG_NOSYSTEM"}
    return {**own, **fixed, "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}


def view_files(id_format: str) -> dict[str, str]:
    """Return the files that make a folder a view: a bare repository with object ids of this hash algorithm.

    The attribute in these files makes patches binary; a binary patch applies only to one exact content of a file.
    """
    core = "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n"
    return {
        "config": f"{core}[extensions]\n\tobjectFormat = {id_format}\n",
        "info/attributes": "* -diff\n",
        "HEAD": "ref: refs/heads/none\n",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAnswer:
    """Result of `git merge-tree`: the merged tree, with conflict markers in the files that `conflicts` names."""

    tree: str
    conflicts: tuple[str, ...] = ()


def parse_merge(output: bytes) -> MergeAnswer:
    """Parse the answer of `git merge-tree --write-tree -z --name-only`."""
    fields = output.decode("utf-8", "replace").split("\0")
    conflicts: list[str] = []
    for path in fields[1:]:
        if not path:
            break
        conflicts.append(path)
    return MergeAnswer(tree=fields[0].strip(), conflicts=tuple(dict.fromkeys(conflicts)))


def conflict_excerpt(text: str, *, around: int = 3, max_lines: int = 40) -> str:
    """Return the conflicting parts of a file with conflict markers, with a few lines of code around each."""
    lines = text.split("\n")
    wanted: set[int] = set()
    inside = False
    for number, line in enumerate(lines):
        inside = inside or line.startswith("<<<<<<< ")
        if inside:
            wanted.update(range(max(0, number - around), min(len(lines), number + around + 1)))
        inside = inside and not line.startswith(">>>>>>> ")
    picked = sorted(wanted)
    shown = [lines[number] for number in picked[:max_lines]]
    return "\n".join([*shown, *(["… (cut)"] if len(picked) > max_lines else [])])


def note_paths(commit: str) -> tuple[str, ...]:
    """List the possible paths of the note on a commit.

    Git adds folders as the number of notes grows; we use one folder.
    """
    return (f"{commit[:2]}/{commit[2:]}", commit, f"{commit[:2]}/{commit[2:4]}/{commit[4:]}")


def note_edits(commit: str, text: str) -> list[Edit]:
    """Return the edits of a notes tree that set the note on a commit and remove an older note at any path."""
    here, *elsewhere = note_paths(commit)
    old = [Edit(path=path, mode="100644", data=None) for path in elsewhere]
    return [*old, Edit(path=here, mode="100644", data=text.encode("utf-8", "replace"))]


def log_line(entry: str, home: str) -> LogLine:
    """Parse one entry of `git log` with the fields id, committer's time, author and message, separated by U+001F.

    The task that the message names is ignored if it belongs to another home; an empty `home` accepts the tasks of all
    homes.
    """
    id_, seconds, author, message = entry.split("\x1f", 3)
    is_ours = not home or home_of(message) in {"", home}
    return LogLine(
        id=id_,
        at=datetime.fromtimestamp(int(seconds), UTC),
        author=author,
        subject=message.strip().split("\n")[0],
        task_id=task_of(message) if is_ours else None,
    )


def version_of(answer: str) -> tuple[int, int]:
    """Return the version in the output of `git --version`; (0, 0) if there is none."""
    match = re.search(r"(\d+)\.(\d+)", answer)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def is_local(url: str) -> bool:
    """Return True if a remote's address is a folder on this machine."""
    return url.startswith("file://") or not re.match(r"[^/]*:", url)


def url_fault(url: str) -> str | None:
    """Return why nothing may be pushed to this address, or None. Addresses such as `ext::` name a program to run."""
    return "its address names a program" if url.startswith("-") or re.match(r"[A-Za-z0-9+.-]*::", url) else None


def read_refused(answer: str) -> frozenset[str]:
    """Return the references that the remote, or git itself, refused to move.

    They are read from the output of `git push --porcelain`.
    """
    lines = (line.split("\t") for line in answer.split("\n"))
    return frozenset(line[1].rpartition(":")[2] for line in lines if len(line) == 3 and line[0] == "!")


def lock_in(error: str) -> str | None:
    """Return the lock that an error of git names as its cause, or None if the error has another cause."""
    match = re.search(r"[Uu]nable to create '(.+?\.lock)': File exists", error)
    return match[1] if match else None


_UNREADABLE = re.compile(r"fatal: (not a git repository|unknown repository ext|Expected git repo version|bad config)")


def is_unreadable(error: str) -> bool:
    """Return True if git says that it cannot read the repository at all, whatever the command was."""
    return _UNREADABLE.search(error) is not None


def without_advice(error: str) -> str:
    """Remove git's advice about other processes that may hold a lock."""
    return error.partition("\n\nAnother git process seems to be running")[0]


def without_password(text: str) -> str:
    """Mask user names and passwords in addresses."""
    return re.sub(r"(?<=://)[^/@\s]+@", "***@", text)
