"""Further details of a commit in the ledger: the files that it changed, and signs of its risk from its attempt.

Events and steps are deleted by age. These details are kept, because the weekly report ranks commits by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.core.tasks.remarks import Remark
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.storage.db.codec import decode, encode_sparse


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Facts about the attempt behind a commit that help its reader judge the risk.

    Attributes:
        own_tests: paths of tests that the agent wrote.
        changed_tests: the paths in `own_tests` of tests that existed before the attempt. They were changed because they
            contradicted the task.
        removed_tests: tests that were removed together with the code that they tested.
        tests: number of tests in the last run.
        tests_passed: number of tests in the last run that passed.
        failing: for a draft, the ids of the first tests that did not pass.
        held_out: number of test cases that no prompt had shown.
        escalations: how often the attempt went in circles and started again.
        packages: maps each package that is not a default library of the sandbox to its version.
        findings: rules of the static checker that the change breaks but that only led to a note, as `rule:path`.
        left_out: paths that the model wrote but the run did not use.
        remarks: serious findings of reviewers that were still open, the worst first.
    """

    own_tests: tuple[str, ...] = ()
    changed_tests: tuple[str, ...] = ()
    removed_tests: tuple[str, ...] = ()
    tests: int = 0
    tests_passed: int = 0
    failing: tuple[str, ...] = ()
    held_out: int = 0
    escalations: int = 0
    packages: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


def files_text(files: Sequence[ChangedFile] | None) -> str | None:
    """Encode the files for the ledger. None (not known) is returned as None."""
    return None if files is None else json.dumps([[file.path, file.added, file.removed] for file in files])


def files_of(text: str | None) -> tuple[ChangedFile, ...] | None:
    """Decode the result of `files_text`."""
    if text is None:
        return None
    return tuple(ChangedFile(path=path, added=added, removed=removed) for path, added, removed in json.loads(text))


def signs_text(signs: Signs | None) -> str | None:
    """Encode the signs for the ledger. None (not known) is returned as None."""
    return None if signs is None else encode_sparse(signs)


def signs_of(text: str | None) -> Signs | None:
    """Decode the result of `signs_text`."""
    return None if text is None else decode(Signs, text)
