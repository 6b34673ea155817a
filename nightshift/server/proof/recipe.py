"""Lists commands that check a commit of the agent with only git, a shell and pytest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from nightshift.attempt.evidence import Note
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Label

FOLDER = "../proof-check"
_REF = "refs/notes/nightshift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the check.

    `title` says what is checked. `commands` are typed in a shell in a clone of the repository. `expected` is their
    output.
    """

    title: str
    commands: str
    expected: str


def recipe(note: Note, digests: dict[str, str], note_digest: str, *, added: frozenset[str]) -> list[Part]:
    """Return the parts of the check in the order in which to run them.

    Args:
        note: the evidence of the commit.
        digests: maps the path of each changed file that the commit contains to its SHA-256.
        note_digest: the SHA-256 of the note.
        added: paths of the commit that its parent does not have.
    """
    return [_identity(note, note_digest), *_files(note, digests), *_tests(note, added)]


def _identity(note: Note, note_digest: str) -> Part:
    commands = (
        f"git fetch origin {_REF}:{_REF}",
        f"git rev-parse {note.commit} {note.commit}^{{tree}} {note.commit}^",
        f"git notes --ref=nightshift show {note.commit} | sha256sum",
    )
    expected = "\n".join((note.commit, note.tree, note.base, f"{note_digest}  -"))
    return Part(title="The commit, its tree, its parent and its evidence", commands=_lines(commands), expected=expected)


def _files(note: Note, digests: dict[str, str]) -> Iterator[Part]:
    if digests:
        commands = (f"git cat-file blob {quote(f'{note.commit}:{path}')} | sha256sum" for path in digests)
        expected = "\n".join(f"{digest}  -" for digest in digests.values())
        yield Part(title="The bytes of the files", commands=_lines(commands), expected=expected)


def _tests(note: Note, added: frozenset[str]) -> Iterator[Part]:
    run = _run(note)
    if not run:
        return
    enter = f"cd {quote('./' + note.project)}" if note.project else ""
    packages = (quote(f"{name}=={version}") for name, version in sorted(note.packages.items()))
    install = "python -m pip install pytest " + " ".join(packages) if note.packages else ""
    there = (f"git worktree add --detach {FOLDER} {note.commit}", f"cd {FOLDER}", install, enter, run)
    yield Part(title="The tests, on exactly this tree", commands=_lines(there), expected=_passes(note))
    tests = {*note.tests, *note.own_tests}
    changed = [note.scope.full(path) for path in note.changed if path not in tests]
    if changed and note.evidence.label is not Label.REMOVED:
        old = [path for path in changed if path not in added]
        new = [path for path in changed if path in added]
        back = f"git checkout {note.base} -- {_paths(old)}" if old else ""
        away = f"rm -f -- {_paths(new)}" if new else ""
        up = "cd - >/dev/null" if enter else ""
        expected = "The tests that the agent wrote fail." if note.own_tests else "A test of what was asked for fails."
        yield Part(title="The same tests without the change", commands=_lines((up, back, away, enter, run)),
                   expected=expected)  # fmt: skip


def _run(note: Note) -> str:
    """Return the command that runs the tests of the project; empty if the command is not known."""
    if note.command:
        return " ".join(map(quote, note.command))
    tests = [*note.tests, *note.own_tests] or list(note.evidence.suites)
    if note.language is not Language.PYTHON or not tests:
        return ""
    return f"python -m pytest -q {_paths(sorted(tests))}"


def _passes(note: Note) -> str:
    if note.command:
        return "It ends with exit status 0."
    return f"All pass. The evidence counts {note.passed}, with the project's own tests that the change reaches."


def _paths(paths: list[str]) -> str:
    return " ".join(quote(f"./{path}") for path in paths)


def _lines(commands: Iterator[str] | tuple[str, ...]) -> str:
    return "\n".join(filter(None, commands))
