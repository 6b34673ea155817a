"""Holds a note against what git stores of the commit; nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

from attempt.checks import Check, Standing, failed, listed, ok, unchecked
from attempt.evidence import FORMAT, Note
from attempt.seal import Sealed
from core.commit_message import trailers
from core.revisions import CommitFacts
from core.tree import Tree

_SEALS = {
    Sealed.OURS: ok("seal", "the note is as this home wrote it"),
    Sealed.BROKEN: failed("seal", "the note was altered after this home had sealed it"),
    Sealed.ANOTHER: unchecked("seal", "another home sealed the note; only that one can tell whether it was altered"),
    Sealed.NONE: unchecked("seal", "the note bears no seal; whether it was altered cannot be told"),
}


def belongs(note: Note, facts: CommitFacts) -> tuple[Check, ...]:
    """Whether the note was written for this very commit, tree and parent."""
    return (
        ok("commit", "the note was written for it")
        if note.commit == facts.id
        else failed("commit", f"the note was written for {note.commit[:12]}: copied, or the commit was made anew"),
        _one("tree", note.tree, facts.tree, "is what was judged"),
        _one("base", note.base, " ".join(facts.parents), "is the parent"),
    )


def is_its_own(checks: tuple[Check, ...]) -> bool:
    """Tell whether none of the checks of `belongs` failed."""
    return all(check.standing is Standing.OK for check in checks)


def claims(note: Note, facts: CommitFacts, tree: Tree, base: Tree, sealed: Sealed) -> Iterator[Check]:
    """The seal, what this version cannot read, the trailers, and the paths that the commit changes."""
    yield _SEALS[sealed]
    if note.strange:
        yield unchecked("fields", f"this version does not know {listed(list(note.strange))}")
    yield _trailers(note, facts)
    yield _paths(note, differing(base, tree))


def differing(base: Tree, tree: Tree) -> frozenset[str]:
    """The paths at which two trees hold other bytes."""
    old, new = base.entries(), tree.entries()
    return frozenset(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def _one(what: str, then: str, now: str, good: str) -> Check:
    if then == now:
        return ok(what, f"{now[:12]} {good}")
    return failed(what, f"the note names {then[:12] or 'none'}, the commit has {now[:12] or 'none'}")


def _trailers(note: Note, facts: CommitFacts) -> Check:
    said = trailers(facts.message)
    wanted = {"Task": str(note.task), "Verdict": str(note.evidence.label)}
    if note.format == FORMAT:
        wanted |= {"Model": note.model, "Iterations": str(note.iterations)}
    wrong = [f"{name}: {said.get(name, 'none')}, the note has {value}"
             for name, value in wanted.items() if said.get(name, "") != value]  # fmt: skip
    return failed("trailers", "; ".join(wrong)) if wrong else ok("trailers", f"{', '.join(wanted)} agree with the note")


def _paths(note: Note, found: frozenset[str]) -> Check:
    judged = {*note.tests, *note.own_tests, *note.changed}
    if left_out := sorted(found & note.evidence.dropped.keys()):
        return failed("files", f"the run left out {listed(left_out)}, which the commit changes")
    if note.format == FORMAT and (stray := sorted(found - judged)):
        return failed("files", f"the commit changes {listed(stray)}, which was not judged")
    return ok("files", f"the commit changes {len(found)} file{'' if len(found) == 1 else 's'}, all of them judged")
