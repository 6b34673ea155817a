"""Builds the states of a task's files at its steps; `server.diffs.changes` compares these states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from nightshift.core.code.tree import Tree
from nightshift.core.errors import UnknownStep
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.forking import begin, begin_with_draft
from nightshift.core.tasks.projects import WHOLE, Scope
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Task
from nightshift.server.context import AppContext
from nightshift.server.diffs.changes import Diff, FileDiff, FileText, OpenTree, State, compare, file_text
from nightshift.server.formatting import short
from nightshift.storage.db.state_store import Commit
from nightshift.storage.db.step_store import StepRow


class CaseFiles:
    """The files of a task after each of its steps. One instance serves one request, and caches trees meanwhile.

    Args:
        context: the services of the server.
        task: the task.
    """

    def __init__(self, context: AppContext, task: Task) -> None:
        self._context, self._task = context, task
        self._trees: dict[tuple[str, Scope], OpenTree] = {}

    def of_step(self, attempt: int, step_no: int, only: str | None = None) -> Diff:
        """Compare the files before and after a step.

        Raises:
            UnknownStep: the step does not exist, or its case file was deleted.
        """
        row = self.row(attempt, step_no)
        before = self._context.steps.step(self._task.id, attempt, step_no - 1) if step_no else None
        name = f"before step {step_no}"
        return self._diff("step", self._before(row, before, name), self._after(row, f"after step {step_no}"), only)

    def of_task(self, only: str | None = None) -> Diff:
        """Compare the files before and after the task.

        The state after the task is its last commit or draft, or, if neither exists, the last step of its newest
        attempt.
        """
        if (entry := self._entry()) is not None:
            before = self._state_at_start(entry)
            after = State(name=f"commit {entry.commit[:12]}", texts={}, open_tree=self._tree(entry.commit))
            difference = self._diff("task", before, after, only, commit=entry.commit)
            difference = difference.model_copy(update={"files": self._with_mutants(difference.files, entry, after)})
            if difference.files or not difference.note:
                return difference
        rows = self._context.steps.course(self._task.id, self._task.attempt)
        if not rows and self._context.reads.find_pruned(self._task.id) is None:
            return Diff(
                of="task", before="", after="", commit=None, note="No step has finished yet.", files=[], left_out=0
            )
        if not rows:
            raise self.missing("no finished step")
        after = self._after(rows[-1], f"after step {rows[-1].step_no} of attempt {rows[-1].attempt}")
        given = dict(self._task.spec.files)
        before = State(name="the files that came with the task", texts=given, open_tree=after.open_tree)
        return self._diff("task", before, after, only, note="" if entry is None else "its commit cannot be read")

    def _state_at_start(self, entry: Commit) -> State:
        """Return the files before the task's commit.

        These are the files of the parent commit, plus the files that came with the task and that the parent does not
        have.
        """
        parent = State(name=f"{entry.base[:12]}, its parent", texts={}, open_tree=self._tree(entry.base))
        new = {path: text for path, text in self._task.spec.files.items() if path not in parent.entries()}
        return replace(parent, name=f"{parent.name}, with the files of the task", texts=new) if new else parent

    def file(self, attempt: int, step_no: int, path: str) -> FileText:
        """Return a file as it was after a step.

        Raises:
            UnknownStep: the step or the file does not exist.
        """
        state = self._after(self.row(attempt, step_no), f"after step {step_no}")
        raw = state.read(path)
        if raw is None:
            raise self.missing(f"no such file after step {step_no}")
        return file_text(path, raw, state.name, self._context.mask)

    def given(self, path: str) -> FileText:
        """Return a file that was submitted with the task.

        Raises:
            UnknownStep: no submitted file has this path.
        """
        files = {**self._task.spec.files, **self._task.spec.tests}
        if path not in files:
            raise self.missing("no file of that name")
        return file_text(path, files[path].encode("utf-8", "replace"), "as it was given", self._context.mask)

    def row(self, attempt: int, step_no: int) -> StepRow:
        """Return a finished step.

        Raises:
            UnknownStep: the step does not exist.
        """
        if step := self._context.steps.step(self._task.id, attempt, step_no):
            return step
        raise self.missing(f"no finished step {step_no} in attempt {attempt}")

    def missing(self, what: str) -> UnknownStep:
        """Build the error for data that the task does not have, or that was deleted when its steps were pruned."""
        gone = self._context.reads.find_pruned(self._task.id)
        why = f"; its steps were pruned on {gone.at:%Y-%m-%d} ({gone.setting})" if gone else ""
        return UnknownStep(f"task {self._task.id} has {what}{why}")

    def work(self, row: StepRow) -> AttemptState:
        """Return the case file after a step.

        Raises:
            UnknownStep: the case file cannot be read.
        """
        if work := self._context.steps.work(row.work):
            return work
        raise self.missing(f"no readable case file at step {row.step_no} of attempt {row.attempt}")

    def _after(self, row: StepRow, name: str, scope: Scope | None = None) -> State:
        work = self.work(row)
        return self._state(work, name, scope or work.scope)

    def _before(self, row: StepRow, earlier: StepRow | None, name: str) -> State:
        """Return the state before a step.

        It is the state after the previous step. For the first step it is what the attempt began with: a draft, a fork
        of another task, or the base commit with the submitted files.
        """
        work = self.work(row)
        if earlier is not None:
            return self._after(earlier, name, work.scope)
        begins_with = self._task.draft_attempt
        if row.attempt > begins_with > 0 and (left := self._context.steps.last_work(self._task.id, begins_with)):
            return self._state(begin_with_draft(left), name, work.scope)
        fork = self._context.reads.find_fork(self._task.id)
        source = self._context.steps.work(fork[1]) if fork else None
        if fork and source:
            return self._state(begin(source, fork[0]), name, work.scope)
        tree = self._tree(work.base, work.scope)
        return State(name=name, texts=dict(self._task.spec.files), open_tree=tree)

    def _state(self, work: AttemptState, name: str, scope: Scope) -> State:
        """Return the files of a case file as a state, restricted to `scope`.

        `scope` is given separately because it may be narrower than the scope in the case file. This happens if the plan
        had not yet chosen the project at this step, but a later step knows the project.
        """
        texts: Mapping[str, str | None] = {**work.change, **work.own_tests}
        tree = self._tree(work.base, scope)
        return State(name=name, texts=texts, tests=frozenset(work.own_tests), open_tree=tree)

    def _tree(self, commit: str, scope: Scope = WHOLE) -> OpenTree:
        """Return a function that opens the tree of a commit, or of one project in that commit.

        The function is cached by commit and scope.
        """
        return self._trees.setdefault((commit, scope), partial(self._read_tree, commit, scope))

    def _read_tree(self, commit: str, scope: Scope) -> Tree:
        scope = replace(scope, given=(*self._task.spec.files, *self._task.spec.tests))
        return scope.of(self._context.tree(self._task.spec.repo, commit))

    def _with_mutants(self, files: list[FileDiff], entry: Commit, after: State) -> list[FileDiff]:
        """Add the mutants of the verdict's run to the diffs.

        A mutant is a small fault that the run put into the changed code to see whether the tests notice it.

        A file gets its mutants only if its text in the commit is the text that was judged.
        """
        rows = self._context.steps.course(self._task.id, entry.attempt)
        work = self._context.steps.work(rows[-1].work) if rows else None
        if work is None or work.verdict is None or not work.verdict.evidence.mutants:
            return files
        mutants = [
            replace(mutant, what=short(mutant.what, self._context.mask)) for mutant in work.verdict.evidence.mutants
        ]
        judged = {path: text.encode("utf-8", "replace") for path, text in work.change.items() if text is not None}
        same = {path for path, raw in judged.items() if after.read(path) == raw}
        return [
            file.model_copy(update={"mutants": tuple(mutant for mutant in mutants if mutant.path == file.path in same)})
            for file in files
        ]

    def _entry(self) -> Commit | None:
        """Return the task's newest entry in the ledger of commits, which may be a draft.

        Returns:
            The entry; None if there is none, or if it is not the result of the task. A commit is the result if the task
            has a commit. A draft is the result only if the task failed.
        """
        entry = self._context.reads.find_commit(self._task.id)
        if entry is None:
            return None
        has_ended_so = self._task.status is Status.FAILED if entry.is_draft else self._task.commit
        return entry if has_ended_so else None

    def _diff(
        self,
        of: Literal["task", "step"],
        before: State,
        after: State,
        only: str | None,
        *,
        commit: str | None = None,
        note: str = "",
    ) -> Diff:
        files, left_out = compare(before, after, self._context.mask, only=only)
        fault = before.fault or after.fault
        reason = f"the earlier files cannot be read, so all lines count as added: {fault}" if fault else ""
        note = "; ".join(filter(None, (note, reason)))
        return Diff(
            of=of, before=before.name, after=after.name, commit=commit, note=note, files=files, left_out=left_out
        )
