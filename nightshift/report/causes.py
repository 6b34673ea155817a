"""Groups failed tasks by cause: tasks that failed with the same error, or for the same reason, form one group.

The error is the normalised signature of the last failure (`storage.memory.signature`), without the function names in
its traceback, because these differ from task to task. Some attempts have no failure of their own, because the model was
unavailable or the budget was spent. Their cause is the reason of their ending, normalised in the same way. If a task
failed because of a failed dependency, it has the same cause as the dependency, because one fix settles both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nightshift.core.tasks.states import Ending
from nightshift.storage.db.brief_queries import FailedTask
from nightshift.storage.memory.signature import DIFFERS, is_frame, signature

_ENDED_OTHERWISE = frozenset({Ending.ERROR, Ending.CRASHED, Ending.REFUSED, Ending.DEPENDENCY})
"""Endings whose cause is the reason of the ending, even if tests failed before."""
_MISSING = re.compile(
    r"No module named ['\"](?P<python>[\w.]+)['\"]|Cannot find (?:module|package) ['\"](?P<js>[^'\"./][^'\"]*)['\"]"
)
_NAMES = re.compile(r"[\w.$]+(?=\(\))|\d+")
_ASSERTED = re.compile(r"\bassert\b.*?(?: (==|!=|<=|>=|<|>|is not|not in|is|in) .*)?$")
TITLE_CHARS = 300
# Cached: thousands of tasks end with the same few reasons, and a signature takes a tenth of a millisecond.
_of_reason = lru_cache(maxsize=1024)(signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The cause of some tasks' failure.

    Attributes:
        id: an id that is always the same for the same cause.
        title: the error in one line, or the reason if there is no error.
        ending: the ending of the first task, or of the dependency whose failure made the first task fail.
        module: the missing module, if that is the cause; else empty.
        tasks: the failed tasks, in the order of their ids.
    """

    id: str
    title: str
    ending: Ending | None
    module: str
    tasks: Sequence[FailedTask]


def cluster(failed: Sequence[FailedTask]) -> list[Cause]:
    """Return the causes of failed tasks, the most common first."""
    by_id = {task.id: task for task in failed}
    groups: dict[str, list[FailedTask]] = {}
    for task in failed:
        groups.setdefault(_key(_root(task, by_id)), []).append(task)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1][0].id))
    return [_cause(key, tasks, _root(tasks[0], by_id)) for key, tasks in ranked]


def _root(task: FailedTask, by_id: Mapping[int, FailedTask]) -> FailedTask:
    """Follow a failed task's dependencies to the task whose failure caused the others.

    The recursion ends, because a dependency is always older than its task.
    """
    other = by_id.get(task.blocker or 0) if task.ending is Ending.DEPENDENCY else None
    return task if other is None else _root(other, by_id)


def _speaks(task: FailedTask) -> bool:
    return bool(task.signature) and task.ending not in _ENDED_OTHERWISE


def _key(task: FailedTask) -> str:
    if not _speaks(task):
        return f"{task.ending}\n{_of_reason(task.reason)}"
    return f"{_module(task)}\n{_drop_names(task.signature)}"


@lru_cache(maxsize=1024)
def _drop_names(signature: str) -> str:
    """Return a signature without values and function names, which differ from task to task."""
    lines = (line for line in signature.split("\n") if not (is_frame(line) or re.match(r"\s*\+\s", line)))
    shown = (line if line.startswith(DIFFERS) else _ASSERTED.sub(r"assert \1", line) for line in lines)
    return "\n".join(dict.fromkeys(_NAMES.sub("", line) for line in shown))


def _module(task: FailedTask) -> str:
    """Return the name of a missing module; empty if that is not the cause.

    The name is read from the error text, because signatures omit quoted names.
    """
    match = _MISSING.search(task.error) if _speaks(task) else None
    return (match["python"].partition(".")[0] if match["python"] else match["js"]) if match else ""


def _cause(key: str, tasks: Sequence[FailedTask], root: FailedTask) -> Cause:
    text = root.error if _speaks(root) else root.reason
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return Cause(
        id=hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        title=lines[0][:TITLE_CHARS] if lines else "no reason was given",
        ending=root.ending,
        module=_module(root),
        tasks=tasks,
    )
