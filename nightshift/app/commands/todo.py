"""`nightshift todo`: files each `TODO(nightshift): …` comment once as a task, by hand or after each commit.

A comment is identified by its file and its text. A comment that moves within its file is not filed again, whatever
happened to its task. The queue accepts each key only once, so an interrupted call can safely be repeated.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightshift.app.commands.service import where
from nightshift.client.errors import Exit
from nightshift.client.output import Cell, Lines
from nightshift.client.session import Session
from nightshift.client.tasks import submit
from nightshift.core.errors import ConfigError, GitError, InvalidTask
from nightshift.core.program import SCRIPT
from nightshift.core.text.masking import printable
from nightshift.git.todo_comments import MARK, Found, TodoComment, hooks_folder, todo_comments
from nightshift.storage.files.whole import write_whole

HOOK = "post-commit"
WRITTEN_BY = "# Written by `nightshift todo --install-hook`; changes are lost when it is written again."


def todo(session: Session, repo: str, *, from_hook: bool) -> int:
    """File the comments of the commit that is checked out.

    Args:
        session: the session of the home that gets the tasks.
        repo: a checkout, or a folder in a checkout.
        from_hook: True if a git hook calls. Only new tasks are printed then, and nothing if no branch is checked out,
            as during a rebase.

    Raises:
        GitError: `repo` is not a repository that a task can work in, or no branch is checked out.
    """
    todos = todo_comments(_absolute(repo), session.settings.process_environment)
    if not todos.branch and from_hook:
        return Exit.OK
    if not todos.branch:
        raise GitError(f"repo: no branch is checked out in {todos.root}; tasks start from one, so check one out")
    rows, faults = list[dict[str, object]](), list[str]()
    for comment in todos.comments:
        try:
            task, is_new = submit(session, _body(todos, comment))
        except InvalidTask as invalid:
            faults.append(f"{printable(comment.path)}: {'; '.join(f'{n}: {w}' for n, w in invalid.fields.items())}")
            continue
        if is_new:
            rows.append({"task_id": task.task_id, "path": comment.path, "text": comment.text})
    answer = {"repo": str(todos.root), "branch": todos.branch, "found": len(todos.comments), "new": rows}
    lines = [Cell(f"task {row['task_id']}: {row['text']} ({row['path']})") for row in rows]
    if not (from_hook and not rows):
        count = len(todos.comments)
        none = f"{count} {MARK} comment{'' if count == 1 else 's'} in {todos.root}, none of them new"
        session.print({**answer, "refused": faults}, [Lines(lines=lines or [Cell(none)])])
    for fault in faults:
        session.out.note(f"not taken: {fault}")
    if todos.surplus:
        session.out.note(f"{todos.surplus} more were not read: there are too many")
    if rows:
        session.note_if_down("the tasks wait in the queue until it starts")
    return Exit.USAGE if faults else Exit.OK


def install_hook(session: Session, repo: str) -> int:
    """Install a git hook that calls `nightshift todo` after each commit; an existing hook is not changed.

    Raises:
        ConfigError: there is another hook, or the hook cannot be written.
        GitError: `repo` is not a repository.
    """
    folder, is_set = hooks_folder(_absolute(repo), session.settings.process_environment)
    path, text = folder / HOOK, _hook(where(session.settings))
    try:
        if os.path.lexists(path) and WRITTEN_BY not in path.read_text(encoding="utf-8", errors="replace"):
            line = text.strip().splitlines()[-1]
            raise ConfigError([f"{path} is a hook of yours and is left as it is; add this line to it:\n{line}"])
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, mode=0o755)
    except OSError as error:
        raise ConfigError([f"{path} cannot be written: {error.strerror}"]) from error
    session.print({"path": str(path), "shared": is_set}, Cell(f"written: {path}"))
    if is_set:
        session.out.note("core.hooksPath names this folder: each repository that uses it now runs the hook")
    return Exit.OK


def _absolute(repo: str) -> str:
    return str(Path(repo).expanduser().absolute())


def _body(todos: Found, comment: TodoComment) -> Mapping[str, Any]:
    identity = "\0".join((str(todos.common), comment.path, comment.text))
    path = printable(comment.path, max_chars=500)
    about = f"(A `TODO(nightshift)` comment in {path} asks for this. Do it, and take the comment out.)"
    return {
        "description": f"{comment.text}\n\n{about}",
        "repo": str(todos.root),
        "base": todos.branch,
        "key": f"todo:{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}",
        "metadata": {"todo": path},
    }


def _hook(variables: Mapping[str, str]) -> str:
    """Return the text of the hook; for a commit without such comments the hook only runs one `git grep`."""
    named = [f"{name}={value}" for name, value in variables.items()]
    call = shlex.join(["env", *named, sys.executable, str(SCRIPT), "todo", "--hook"])
    search = f"git grep -qIF {shlex.quote(MARK)} HEAD --"
    return f"#!/bin/sh\n{WRITTEN_BY}\n{search} && {call} .\n"
