"""Puts together the run that a note tells of, and holds what it gives against what the note says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from attempt.checks import Check, changed, failed, listed, ok, same, unchecked
from attempt.evidence import FORMAT, Note, digests
from attempt.recorded import differing
from core.tasks import Files
from core.text import decode
from core.tree import Tree
from core.verdicts import Evidence, Result, SuiteJob, Verdict
from verdict.held.layer import KIND as HELD_OUT

MOST_WALL_S, MOST_CPUS = 3600.0, 16.0
MOST_MEMORY_MB, MOST_PIDS, MOST_WORK_MB = 16_384, 4096, 8192
"""A note may come from elsewhere; whatever it says, a run gets no more than this."""
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A run to make again. `missing` are tests that the commit does not hold.

    `start_known` tells that all files which the owner gave with the task can be had: where the commit changed one, its
    first text is not kept, and nobody can say again whether self-written tests failed on it.
    """

    job: SuiteJob
    missing: tuple[str, ...]
    start_known: bool


def plan(note: Note, tree: Tree, base: Tree) -> Rerun:
    """The run that the note tells of: the parent's tree with the commit's change on top."""
    present = tree.entries().keys()
    changes = note.changed if note.format == FORMAT else differing(base, tree) - {*note.tests, *note.own_tests}
    start = _start(note, tree)
    job = SuiteJob(
        base=base,
        change={path: _text(tree, path) if path in present else None for path in sorted(changes)},
        given={path: _text(tree, path) for path in note.tests if path in present},
        held=note.held,
        own={path: _text(tree, path) for path in note.own_tests if path in present},
        own_proven=len(start) < len(note.start),
        start=start,
        regression=tuple(path for path, role in note.evidence.suites.items() if role == "regression"),
        command=note.command,
        allow=note.allow,
        language=note.language,
        packages=note.packages,
        whole_tree=note.evidence.complete,
        wall_s=_at_most(note.limits.wall_s, MOST_WALL_S),
        memory_mb=_at_most(note.limits.memory_mb, MOST_MEMORY_MB),
        cpus=_at_most(note.limits.cpus, MOST_CPUS),
        pids=_at_most(note.limits.pids, MOST_PIDS),
        work_mb=_at_most(note.limits.work_mb, MOST_WORK_MB),
    )
    missing = tuple(path for path in (*note.tests, *note.own_tests) if path not in present)
    return Rerun(job=job, missing=missing, start_known=len(start) == len(note.start))


def weigh(note: Note, rerun: Rerun, verdict: Verdict) -> Iterator[Check]:
    """Everything that the note says of its run, one by one."""
    then, now = note.evidence, verdict.evidence
    yield _bytes(then, now)
    yield _tests(note, verdict)
    yield _copies(then, verdict)
    if note.own_tests:
        yield _own(rerun, verdict)
    if then.held_out or note.held.cases:
        yield _held_out(then, verdict)
    yield _label(then, now)
    yield same("sandbox", then.sandbox, now.sandbox)
    yield same("python", then.python, now.python)
    yield _dropped(then, now)
    if then.notes != now.notes:
        yield changed("notes", f"{'; '.join(then.notes) or 'none'} then, {'; '.join(now.notes) or 'none'} now")


def _bytes(then: Evidence, now: Evidence) -> Check:
    if then.tree == now.tree:
        return ok("bytes", f"the run saw the same bytes ({now.tree[:12]})")
    return failed("bytes", f"the run saw {now.tree[:12] or 'nothing'}, the note has {then.tree[:12] or 'nothing'}")


def _tests(note: Note, verdict: Verdict) -> Check:
    then, now = set(note.evidence.ids), {case.id for case in verdict.results}
    bad = sorted(verdict.failing)
    if bad or (not verdict.passed and not verdict.results):
        first = verdict.failures[0] if verdict.failures else None
        told = f"{first.id}: {first.message}".partition("\n")[0] if first else listed(bad)
        return failed("tests", f"{verdict.reason}: {told}" if told else verdict.reason)
    if gone := sorted(then - now):
        return failed("tests", f"{listed(gone)} ran then and not now")
    if new := sorted(now - then):
        return failed("tests", f"the note does not know {listed(new)}")
    if note.passed != verdict.count(Result.PASSED):
        return failed("tests", f"the note counts {note.passed}, {verdict.count(Result.PASSED)} passed")
    many = f"the same {len(now)} tests pass" if len(now) > 1 else "the same test passes"
    return ok("tests", many if now else "the command ends with exit status 0")


def _copies(then: Evidence, verdict: Verdict) -> Check:
    odd = not verdict.passed and not verdict.failing and not verdict.weak and not _is_held_out(verdict)
    if odd and verdict.results:
        return failed("twins", verdict.reason)
    now = verdict.evidence.twins
    if not verdict.passed:
        return unchecked("twins", "where a test fails, its must-fail copies say nothing")
    return same("twins", f"{then.twins} must-fail copies failed", f"{now} must-fail copies failed")


def _own(rerun: Rerun, verdict: Verdict) -> Check:
    if verdict.weak:
        return failed("red", verdict.reason)
    if not verdict.passed:
        return unchecked("red", "where a test fails with the change, nothing follows from one that fails without it")
    if not rerun.start_known:
        return unchecked("red", "the first text of a file that the owner gave with the task is not kept")
    killed = [note for note in verdict.evidence.notes if "mutants" in note]
    return ok("red", "; ".join(["the self-written tests fail without the change", *killed]))


def _held_out(then: Evidence, verdict: Verdict) -> Check:
    now = verdict.evidence.held_out
    if _is_held_out(verdict):
        return failed("held-out", f"{verdict.reason}: {'; '.join(verdict.unseen[:3])}")
    if not verdict.passed:
        return unchecked("held-out", "where a test fails, cases that no prompt showed decide nothing")
    if now < then.held_out:
        return failed("held-out", f"{then.held_out} cases gave the right value then, {now} now")
    return ok("held-out", f"{now} case{'' if now == 1 else 's'} that no prompt showed gave the right value")


def _is_held_out(verdict: Verdict) -> bool:
    return any(failure.kind == HELD_OUT for failure in verdict.failures)


def _label(then: Evidence, now: Evidence) -> Check:
    if then.label is now.label:
        return ok("label", str(now.label))
    return failed("label", f"the note says {then.label}, the run is worth {now.label}")


def _dropped(then: Evidence, now: Evidence) -> Check:
    if now.dropped:
        told = [f"{path} ({why})" for path, why in sorted(now.dropped.items())]
        return failed("dropped", f"not used in the run: {listed(told)}")
    count = len(then.dropped)
    if count:
        files = f"{count} file{'' if count == 1 else 's'}"
        return ok("dropped", f"{files} left out then ({listed(sorted(then.dropped))}), not in the commit")
    return ok("dropped", "nothing was left out, then or now")


def _start(note: Note, tree: Tree) -> Files:
    """Those of the files given with the task whose text the commit still holds."""
    held = {path: _text(tree, path) for path in note.start if path in tree.entries()}
    return {path: text for path, text in held.items() if digests({path: text})[path] == note.start[path]}


def _at_most(asked: N | None, most: N) -> N | None:
    return None if asked is None or asked <= 0 else min(asked, most)


def _text(tree: Tree, path: str) -> str:
    return decode(tree.read(path))
