"""Recognises changes that only remove: files are removed, shortened or renamed, and nothing new is written.

No new test is requested for such a change, because a test that fails without the change would say no more than the
existing tests. All existing tests judge the change; if there are none, tests are requested as for any other change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from nightshift.agent.kinds import asks_to_take_away
from nightshift.agent.services import AgentServices
from nightshift.core.code.dependencies import is_suite
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.task import Change

_MOST_FILES = 60


def only_takes_away(context: AttemptContext, state: AttemptState, services: AgentServices) -> bool:
    """Check whether the task asks for a removal, the change does nothing else, and existing tests can judge it.

    If no file is left, as when a project is removed, the answer is also True, because no test could exist.
    """
    spec, change = context.task.spec, {p: t for p, t in state.change.items() if p not in state.declared}
    change |= dict.fromkeys(state.removed_tests)
    if None not in change.values() or not asks_to_take_away(spec):
        return False
    if not any(change.values()) and services.tree.entries().keys() <= change.keys():
        return True
    if len(change) > _MOST_FILES:
        return False
    given = spec.files
    before = {path: given[path] if path in given else text_of(services.tree, path) for path in change}
    has_tests = any(is_suite(path) and change.get(path, "") is not None for path in services.tree.entries())
    return has_tests and adds_nothing(before, change)


def adds_nothing(before: Mapping[str, str | None], change: Change) -> bool:
    """Check whether each changed file consists only of lines of one earlier file, in the same order.

    A renamed file is compared with its former version. In a line that named a renamed file, the new name counts as the
    old one.

    Args:
        before: the text of each changed path; None if there was no file.
        change: the new text of each changed path; None for a removed file.
    """
    gone = {path: text for path in change if change[path] is None and (text := before[path]) is not None}
    new = {path: text for path, text in change.items() if text is not None and before[path] is None}
    renamed = {path: _former(path, text, gone) for path, text in new.items()}
    if len(set(renamed.values())) < len(renamed):
        return False
    words = {old: path for path, old in renamed.items() if old is not None}
    pairs = [(gone[old], new[path]) for old, path in words.items()]
    pairs += [(text, after) for path, after in change.items() if after is not None and (text := before[path])]
    return None not in renamed.values() and all(_is_part(*pair, words) for pair in pairs)


def _former(path: str, text: str, gone: Mapping[str, str]) -> str | None:
    """Return the removed file with the most lines in common with a new one; None if none has the same extension."""
    lines, kind = set(text.splitlines()), PurePosixPath(path).suffix
    alike = {old: len(lines & set(was.splitlines())) for old, was in gone.items() if PurePosixPath(old).suffix == kind}
    return max(alike, key=lambda old: (alike[old], old), default=None)


def _is_part(before: str, after: str, renamed: Mapping[str, str]) -> bool:
    """Check whether all lines of `after` are also in `before`, in the same order; blank lines do not count."""
    lines = (_with_names(line, renamed) for line in before.splitlines())
    return all(line in lines for line in (_with_names(line, renamed) for line in after.splitlines()) if line)


def _with_names(line: str, renamed: Mapping[str, str]) -> str:
    """Replace the former names of renamed files in a line by the new ones, and normalise its white space.

    A file's names are its path, its path without extension, its module name, and the last part of that name.
    """
    for old, new in renamed.items():
        for was, now in zip(_names(old), _names(new), strict=True):
            line = now.join(re.split(rf"(?<!\w){re.escape(was)}(?!\w)", line))
    return " ".join(line.split()) if not line[:1].isspace() else line.rstrip()


def _names(path: str) -> tuple[str, ...]:
    bare = path.removesuffix(PurePosixPath(path).suffix)
    return path, bare, bare.replace("/", "."), PurePosixPath(bare).name
