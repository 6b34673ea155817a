"""Warns of functions that are written like functions that failed in earlier tasks.

The check compares syntax trees before anything runs. A warning delays nothing: the owner gets a note, and the following
phases get a lesson. A share of attempts sees no lessons, to measure what lessons are worth; these attempts get no
warnings either. Only functions that the change wrote or altered are checked, and no tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from nightshift.core.code.function_shapes import Shape, shapes
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport, Finding, Severity
from nightshift.core.tasks.lesson import Lesson
from nightshift.storage.memory.store import LongTermMemory

RULE = "memory.failed_before"
MOST = 5


class PatternCheck:
    """A change check (`core.ports.ChangeCheck`) that looks up each new or changed function in long-term memory."""

    def __init__(self, memory: LongTermMemory) -> None:
        self._memory = memory

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        """Return notes on functions that failed in an earlier task, with the lesson from that failure.

        Raises:
            StoreError: the database cannot be read or written.
        """
        written = await asyncio.to_thread(_list_written, job)
        digests = {shape.digest for file_shapes in written.values() for shape in file_shapes}
        if not digests:
            return ChangeCheckReport()
        lessons_by_digest = await self._memory.find_failed_before(digests, task_id=job.task_id, attempt=job.attempt)
        hits = [
            (path, failed_shape, lessons_by_digest[failed_shape.digest])
            for path, file_shapes in written.items()
            for failed_shape in file_shapes
            if failed_shape.digest in lessons_by_digest
        ]
        lessons = {lesson.id: lesson for _, _, lesson in hits}
        findings = tuple(_finding(*hit) for hit in hits[:MOST])
        return ChangeCheckReport(findings=findings, lessons=tuple(lessons.values())[:1])


def _list_written(job: ChangeCheckJob) -> Mapping[str, list[Shape]]:
    """Return the new or changed functions of each changed Python file, by path; tests are left out."""
    shapes_by_path = {}
    for path, text in job.change.items():
        if text is None or not path.endswith(".py") or is_test_path(path):
            continue
        before = {shape.digest for shape in shapes(_base(job, path))}
        if new := [shape for shape in shapes(text) if shape.digest not in before]:
            shapes_by_path[path] = new
    return shapes_by_path


def _base(job: ChangeCheckJob, path: str) -> str:
    return text_of(job.tree, path) or ""


def _finding(path: str, shape: Shape, lesson: Lesson) -> Finding:
    head = " ".join(lesson.text.split("What mended it:")[0].split())[:300]
    message = f"{shape.name} is written like code that failed in an earlier task. {head}"
    return Finding(rule=RULE, severity=Severity.NOTE, path=path, line=shape.line, message=message)
