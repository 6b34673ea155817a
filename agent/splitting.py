"""A plan that splits its task: the JSON list of parts is read, and refused with a sentence where it would not work.

What comes back is in an order in which each part stands after those that it needs. Whatever the model says, a part
gets no tests but given ones, by name: what it wants to be true it says as criteria, and tests for these are written
and doubted like those of any task without tests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, ValidationError

from agent.clarity import clarity
from agent.replies import find_json, spoken
from agent.replies.fences import blocks
from agent.tooling import more_asked
from core.masking import printable
from core.paths import clash_among, is_test_path, path_fault
from core.subtasks import FEWEST, MOST, Subtask
from core.tasks import TaskSpec
from core.work import Case

MOST_FILES = 20
LEAST_WORDS = 6
_MAX_CHARS = 4000
_MAX_CRITERIA = 12
_NESTED = ("subtasks", "children", "split")


def _text(value: Any) -> str:
    return printable(str(value)).strip()[:_MAX_CHARS] if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items[:_MAX_CRITERIA] if (text := " ".join(_text(item).split()))]


class SubtaskIn(BaseModel):
    """A part as a model writes it; `depends_on` counts parts from 1, as the list shows them."""

    model_config = ConfigDict(extra="ignore")

    description: Annotated[str, BeforeValidator(_text)] = Field(min_length=1)
    files: list[str] = Field(min_length=1, max_length=MOST_FILES)
    tests: list[str] = Field(default_factory=list)
    acceptance: Annotated[list[str], BeforeValidator(_texts)] = Field(
        default_factory=list, validation_alias=AliasChoices("acceptance", "acceptance_criteria", "criteria")
    )
    depends_on: list[StrictInt] = Field(default_factory=list)


def read(text: str, case: Case, clear_enough: float) -> tuple[Subtask, ...] | str | None:
    """The parts in a reply; a sentence about why they cannot be used; None where the reply splits nothing.

    Args:
        text: the reply.
        case: the task that is planned.
        clear_enough: a part that is less clear than this (0 to 1, `agent.clarity`) is refused.
    """
    raw = _listed(spoken(text))
    if raw is None:
        return None
    if not FEWEST <= len(raw) <= MOST:
        return f"A task is split into {FEWEST} to {MOST} subtasks, not into {len(raw)}."
    said = list[SubtaskIn]()
    for number, item in enumerate(raw, 1):
        one = _part(number, item)
        if isinstance(one, str):
            return one
        said.append(one)
    faults = (_fault(number, one, len(said), case, clear_enough) for number, one in enumerate(said, 1))
    return next(filter(None, faults), "") or _together(said) or _ordered(said)


def _listed(text: str) -> list[Any] | None:
    """The raw list: a bare or fenced one, or the one in the field `subtasks` of an object."""
    for candidate in (text, *(block.text for block in blocks(text))):
        if candidate.strip().startswith("["):
            try:
                found = json.loads(candidate)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, list) and all(isinstance(item, dict) for item in found):
                return found
    within = (find_json(text) or {}).get("subtasks")
    return within if isinstance(within, list) else None


def _part(number: int, raw: Any) -> SubtaskIn | str:
    if not isinstance(raw, Mapping):
        return f"Subtask {number} is no object."
    if any(raw.get(name) for name in _NESTED):
        return f"Subtask {number} is split again; subtasks have no subtasks of their own."
    try:
        return SubtaskIn.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"Subtask {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}."


def _fault(number: int, one: SubtaskIn, count: int, case: Case, clear_enough: float) -> str:
    """What is wrong with one part by itself, or nothing."""
    given = case.task.spec.tests
    for path in one.files:
        if why := path_fault(path) or ("a given test is never changed" if path in given else ""):
            return f"Subtask {number}: files: {path!r}: {why}."
    if unknown := [name for name in one.tests if name not in given]:
        return f"Subtask {number}: tests: {unknown[0]!r} is none of the given tests ({', '.join(given) or 'none'})."
    if not (one.tests or one.acceptance):
        return (
            f"Subtask {number} says nothing by which it is judged: give acceptance criteria, or names of given tests."
        )
    if wrong := [at for at in one.depends_on if not 1 <= at <= count or at == number]:
        return f"Subtask {number}: depends_on: {wrong[0]} is no other subtask; they are numbered from 1 to {count}."
    if all(map(is_test_path, one.files)):
        return f"Subtask {number} writes nothing but tests; every subtask brings its own."
    whole = "\n".join([one.description, *one.acceptance, *one.files])
    if more := more_asked(case.task.spec.description, whole):
        return (
            f"Subtask {number} asks for {more!r}, which runs or steers tools on the owner's machine; the task does not."
        )
    if len(one.description.split()) < LEAST_WORDS or clarity(TaskSpec(description=whole)) < clear_enough:
        return (
            f"Subtask {number} is too vague to be worked on alone: say what is made, where, and what goes in and out."
        )
    return ""


def _together(said: Sequence[SubtaskIn]) -> str:
    """What is wrong with the parts side by side, or nothing."""
    needs = _needs(said)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = " → ".join(str(at + 1) for at in error.args[1])
        return f"The subtasks wait for each other in a circle ({circle})."
    for one, other in combinations(range(len(said)), 2):
        both = sorted(set(said[one].files) & set(said[other].files))
        if both and other not in _before(one, needs) and one not in _before(other, needs):
            return (
                f"Subtasks {one + 1} and {other + 1} both change {both[0]!r}: give the file to one of them, "
                "or let one depend on the other."
            )
    if clash := clash_among(dict.fromkeys(path for one in said for path in one.files)):
        return f"The files {clash[0]!r} and {clash[1]!r} cannot stand beside each other; rename one of them."
    if twice := [text for text, times in Counter(one.description for one in said).items() if times > 1]:
        return f"Two subtasks say the same: {twice[0][:80]!r}."
    return ""


def _needs(said: Sequence[SubtaskIn]) -> dict[int, set[int]]:
    return {at: {number - 1 for number in one.depends_on} for at, one in enumerate(said)}


def _before(at: int, needs: Mapping[int, Iterable[int]]) -> set[int]:
    """All that must be done before a part; `needs` has no circles."""
    found, waiting = set[int](), list(needs[at])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needs[one]
    return found


def _ordered(said: Sequence[SubtaskIn]) -> tuple[Subtask, ...]:
    needs = _needs(said)
    order = list(TopologicalSorter(needs).static_order())
    place = {at: number for number, at in enumerate(order)}
    return tuple(
        Subtask(
            description=said[at].description,
            files=tuple(dict.fromkeys(said[at].files)),
            tests=tuple(dict.fromkeys(said[at].tests)),
            acceptance=tuple(said[at].acceptance),
            after=tuple(sorted(place[before] for before in needs[at])),
        )
        for at in order
    )
