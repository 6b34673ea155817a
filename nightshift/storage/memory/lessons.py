"""Texts of the lesson from a failure: the failing change as a patch, the fix as a diff, and a sentence of advice."""

from __future__ import annotations

import difflib
import re

from nightshift.core.tasks.attempt_state import AttemptState, Reflection
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Failure, Verdict
from nightshift.core.text.masking import Masker, printable
from nightshift.storage.memory.signature import signature

MAX_CODE = 40_000
MAX_FIX = 6_000
MAX_ERROR = 4_000
MAX_LESSON = 300
MAX_HEAD = 200
MAX_FAILURES = 5
TIMEOUT = "Timeout"
"""The kind that a failure has if its run was ended by a timeout."""
_TIME_OVER = re.compile(r"\b(?:timed out|cut off)\b")
_NONE = "/dev/null"


def errors_of(verdict: Verdict) -> dict[str, str]:
    """Return the distinct failures of a verdict from which something can be learned.

    The keys are normalised signatures, the values error texts. Timeouts are left out, because they depend more on the
    machine and the suite than on the code.
    """
    failures = verdict.failures or (Failure(id="", kind="", message=verdict.reason),)
    errors: dict[str, str] = {}
    for failure in [candidate for candidate in failures if not _is_timeout(candidate)][:MAX_FAILURES]:
        where = failure.frame.rpartition(" in ")[2] if " in " in failure.frame else ""
        head = ": ".join(part for part in (failure.kind, failure.message) if part)
        key = "\n".join(part for part in (signature(head), f"in {where}" if where else "") if part)
        parts = (head, failure.frame, failure.excerpt)
        errors.setdefault(key, printable("\n".join(part for part in parts if part), max_chars=MAX_ERROR))
    return errors


def _is_timeout(failure: Failure) -> bool:
    return failure.kind == TIMEOUT or (not failure.kind and bool(_TIME_OVER.search(failure.message)))


def as_patch(change: Change) -> str:
    """Return a change as one patch that contains whole files, for `from_patch`. A long patch loses its last files."""
    patch = ""
    for path, text in sorted(change.items()):
        if len(patch) + len(text or "") > MAX_CODE:
            break
        patch += _write_file_patch(path, text)
    return patch


def _write_file_patch(path: str, text: str | None) -> str:
    if text is None:
        return f"--- a/{path}\n+++ {_NONE}\n"
    lines = text.split("\n")
    end = "" if text.endswith("\n") else "\\ No newline at end of file\n"
    body = "".join(f"+{line}\n" for line in (lines[:-1] if text.endswith("\n") else lines))
    return f"--- {_NONE}\n+++ b/{path}\n@@ -0,0 +1,{body.count(chr(10))} @@\n{body}{end}"


def from_patch(patch: str) -> Change:
    """Return the change that a patch made by `as_patch` contains."""
    change: dict[str, str | None] = {}
    path = ""
    for line in patch.split("\n")[:-1]:
        if line.startswith("--- a/"):
            change[line[6:]] = None
        elif line.startswith("+++ b/"):
            path = line[6:]
            change[path] = ""
        elif line.startswith("+") and not line.startswith("+++ "):
            change[path] = f"{change[path]}{line[1:]}\n"
        elif line.startswith("\\"):
            change[path] = str(change[path]).removesuffix("\n")
    return change


def difference(failing: Change, passing: Change, masker: Masker, error: str = "") -> str:
    """Return the fix, as a unified diff from the failing change to the passing one; empty if there is no difference.

    The diff includes only files that the failing change had written, or that the error names. Other files of the
    passing change do not belong to the fix: they are work that was still to be done.
    """
    parts = []
    for path in sorted(path for path in failing.keys() | passing.keys() if path in failing or path in error):
        before, after = failing.get(path), masker(passing.get(path) or "")
        if before != after and (before or after):
            names = (f"a/{path}" if before else _NONE, f"b/{path}" if after else _NONE)
            lines = difflib.unified_diff((before or "").splitlines(), after.splitlines(), *names, lineterm="", n=2)
            parts.append("\n".join(lines))
    text = "\n".join(parts)
    return text if len(text) <= MAX_FIX else f"{text[:MAX_FIX]}\n… (cut)"


def lesson_of(work: AttemptState) -> str:
    """Return the lesson in one line: the last reflection's advice or cause, otherwise a summary of the change."""
    reflections = [iteration.reflection for iteration in work.tries if iteration.reflection != Reflection()]
    last = reflections[-1] if reflections else Reflection()
    text = last.suggested_fix or last.root_cause or last.pattern or work.summary
    line = " ".join(printable(text).split())
    return line if len(line) <= MAX_LESSON else f"{line[: MAX_LESSON - 1]}…"


def format_lesson(about: str, lesson: str, fix: str) -> str:
    """Format a memory for a model: the error or task, the lesson, and the diff of the fix."""
    head = about.strip().split("\n")[0][:MAX_HEAD]
    parts = (f"{head}:", lesson, f"What mended it:\n{fix}" if fix else "")
    return "\n".join(part for part in parts if part)
