"""Exports accepted work as data for fine-tuning: JSON Lines in the conversational form that trainers read.

An accepted pair consists of the prompt and the reply of the try that passed. A preference pair consists of the prompt
of a try that failed, a chosen answer and a rejected answer. The chosen answer contains the files that finally passed,
and the rejected answer is the reply that failed. The chosen answer is written as whole files, because edits of a later
try would not fit this prompt. If the model worked with tools, the accepted prompt contains the complete last step.
There are then no preference pairs, because whole files are no answer to a prompt that asks for a tool call. Secrets are
masked again, although none should be left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.agent.prompt.text import fence
from nightshift.core.built_in import BUILT_IN
from nightshift.core.text.masking import Masker
from nightshift.storage.db.codec import encode, to_json_value
from nightshift.storage.db.database import Database
from nightshift.storage.db.training_rows import Solved, Written, read_solved
from nightshift.storage.files.whole import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The number of exported pairs of each kind, and the file that each kind was written to."""

    accepted: int
    preferences: int
    accepted_file: Path
    preferences_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The pairs of each kind; each pair is encoded as one JSON object."""

    accepted: list[str]
    preferences: list[str]


def pairs(database: Database, masker: Masker) -> Pairs:
    """Return the pairs of all solved tasks, the oldest task first.

    Raises:
        StoreError: the database cannot be read.
    """
    accepted, preferred = list[str](), list[str]()
    for task in read_solved(database.reader()):
        accepted += [encode(masker.mask_data(to_json_value(line))) for line in _export_accepted(task)]
        preferred += [encode(masker.mask_data(to_json_value(line))) for line in _preferences(task)]
    return Pairs(accepted=accepted, preferences=preferred)


def export(database: Database, to: Path, masker: Masker) -> Exported:
    """Write accepted pairs to `to`, and preference pairs to a file beside it; only the files' owner can read them.

    Raises:
        StoreError: the database cannot be read.
        OSError: the files cannot be written.
    """
    training_pairs = pairs(database, masker)
    beside = to.with_name(f"{to.stem}.preferences{to.suffix or '.jsonl'}")
    for path, lines in ((to, training_pairs.accepted), (beside, training_pairs.preferences)):
        write_whole(path, "".join(f"{line}\n" for line in lines), mode=0o600)
    return Exported(
        accepted=len(training_pairs.accepted),
        preferences=len(training_pairs.preferences),
        accepted_file=to,
        preferences_file=beside,
    )


def _export_accepted(task: Solved) -> Iterator[Mapping[str, object]]:
    last = task.tries[-1]
    if last.backend != BUILT_IN:
        yield {"messages": [*_turns(last), {"role": "assistant", "content": last.reply}], "meta": _meta(task, last)}


def _preferences(task: Solved) -> Iterator[Mapping[str, object]]:
    chosen = "\n\n".join(fence(path, text) for path, text in sorted(task.files.items()) if text is not None)
    final = task.tries[-1].iteration
    for past_try in task.tries:
        if past_try.iteration < final and past_try.backend != BUILT_IN and chosen and not past_try.tools:
            yield {
                "prompt": _turns(past_try),
                "chosen": [{"role": "assistant", "content": chosen}],
                "rejected": [{"role": "assistant", "content": past_try.reply}],
                "meta": _meta(task, past_try),
            }


def _turns(past_try: Written) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in past_try.prompt]


def _meta(task: Solved, past_try: Written) -> dict[str, object]:
    return {
        "task": task.task_id,
        "iteration": past_try.iteration,
        "label": task.label,
        "backend": past_try.backend,
        "model": past_try.model,
    }
