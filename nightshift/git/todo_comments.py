"""Finds `TODO(nightshift): …` comments in the commit that is checked out, each with its text.

Uncommitted files are not searched, because a task starts from a commit and would not see them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import GitError
from nightshift.core.text.masking import printable
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.discovery import discover, refuse_unusable, resolve_given

MARK = "TODO(nightshift):"
MAX_COMMENTS, MAX_CHARS, MAX_LINES = 1000, 4000, 20
_OPENERS = r"(?:\#+|//+!?|/\*+|\*+|--+|;+|%+|<!--|\{\#|\(\*|\"\"\"|''')"
_COMMENT = re.compile(rf"(?P<before>^.*?(?:^|\s){_OPENERS}\s*)TODO\(nightshift\):[ \t]*(?P<text>.*)$")
_CLOSER = re.compile(r"\s*(\*/|-->|\#\}|\*\)|\"\"\"|''')\s*$")
_LINE = re.compile(r"[^:]+:(?P<path>[^\0]+)\0(?P<number>\d+)[\0:-](?P<text>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoComment:
    """One comment; a text that occurs twice in a file counts once."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Comments of a checkout; `surplus` counts the comments that are left out.

    `common` is git's folder that all worktrees of the repository share. `branch` is the checked-out branch; empty if
    HEAD is detached, for example during a rebase.
    """

    root: Path
    common: Path
    branch: str
    comments: tuple[TodoComment, ...] = ()
    surplus: int = 0


def todo_comments(repo: str, environ: Mapping[str, str]) -> Found:
    """Search the commit that is checked out for comments that begin with `TODO(nightshift):`.

    Args:
        repo: The absolute path of a checkout, a linked worktree, or a folder in one.
        environ: The environment variables of this process.

    Raises:
        GitError: The repository is unusable for tasks, or could not be searched.
    """
    location = discover(resolve_given(repo), environ)
    refuse_unusable(location)
    git = Git(location.folder, protocol.private_environment(environ))
    head = git.ask("symbolic-ref", "--quiet", "HEAD").text
    answer = git.ask("grep", "-nzIF", f"-A{MAX_LINES}", "--no-color", "-e", MARK, "HEAD", "--")
    if answer.code > 1:
        raise GitError(f"repo: {location.root} cannot be searched: {answer.error}")
    comments = tuple(dict.fromkeys(_comments(answer.out.decode("utf-8", "replace"))))
    return Found(
        root=location.root,
        common=location.common,
        branch=head.removeprefix("refs/heads/"),
        comments=comments[:MAX_COMMENTS],
        surplus=len(comments[MAX_COMMENTS:]),
    )


def hooks_folder(repo: str, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """Return the folder where git looks for the hooks of a checkout, and whether `core.hooksPath` sets this folder.

    Raises:
        GitError: `repo` is not a repository.
    """
    location = discover(resolve_given(repo), environ)
    # The owner's global settings may set the folder too.
    git = Git(location.folder, protocol.push_environment(environ), (), location.root)
    folder = location.root / git("rev-parse", "--git-path", "hooks").text
    return folder, bool(location.configuration.value("core.hookspath"))


def _comments(output: str) -> Iterator[TodoComment]:
    """Parse the output of `git grep -nz -A`."""
    lines = [match for line in output.split("\n") if (match := _LINE.fullmatch(line))]
    for at, line in enumerate(lines):
        comment = _COMMENT.match(line["text"])
        if comment is None:
            continue
        words = [_CLOSER.sub("", comment["text"])]
        for step, following in enumerate(lines[at + 1 : at + MAX_LINES], 1):
            is_next = (following["path"], int(following["number"])) == (line["path"], int(line["number"]) + step)
            more = _continue(comment["before"], following["text"]) if is_next else ""
            if not more:
                break
            words.append(more)
        text = printable(" ".join(" ".join(words).split()), max_chars=MAX_CHARS, max_line=MAX_CHARS)
        if any(char.isalnum() for char in text):
            yield TodoComment(path=line["path"], text=text)


def _continue(before: str, line: str) -> str:
    """Return the text that a line adds to the comment above it.

    The line must be a comment that is indented further.
    """
    if any(char.isalnum() for char in before) or MARK in line:
        return ""
    lead = " " * len(before) if before.lstrip().startswith(("/*", "<!--", "{#", "(*", '"""', "'''")) else before
    rest = line[len(lead) :] if line.startswith(lead) else ""
    return _CLOSER.sub("", rest).strip() if rest.startswith(" ") else ""
