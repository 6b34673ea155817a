"""The change of one CODING step, while a model's replies or tools write it; writes to forbidden files are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nightshift.agent import protected_files
from nightshift.agent.file_form import write_like
from nightshift.agent.kinds import asks_to_take_away
from nightshift.agent.replies import Edit, Parsed, Refused, apply_edit, is_applied
from nightshift.agent.replies.left_out import find_lost_definitions, lazy_line
from nightshift.agent.replies.names import has_label
from nightshift.agent.view import View, base_text, find_misplacement, settle
from nightshift.core.code.dependencies import is_suite
from nightshift.core.code.parsing import is_test_file
from nightshift.core.code.paths import MAX_FILE_CHARS, MAX_FILES, MAX_TOTAL_CHARS
from nightshift.core.code.tree import Tree
from nightshift.core.errors import BadReply
from nightshift.core.tasks.task import Change, Files, TaskSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The outcome of one reply's files.

    Attributes:
        paths: paths of the accepted files.
        faults: complaints about parts that must be sent again.
        refused: paths that may not be written, each with the reason.
    """

    paths: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


class Draft:
    """The change of one CODING step, built reply by reply.

    Args:
        tree: the tree of the base commit.
        change: the change before the step; it is not modified.
        spec: the task, which decides which files may not be written.
        tests: path to text of tests that are not part of the change but are visible in `view`.
    """

    def __init__(
        self, tree: Tree, change: Mapping[str, str | None], spec: TaskSpec, tests: Files | None = None
    ) -> None:
        self._tree, self._spec, self._tests = tree, spec, tests or {}
        self._change: dict[str, str | None] = dict(change)
        self._asked_about = set[str]()
        self.taken: list[str] = []
        self.refused: dict[str, str] = {}

    @property
    def change(self) -> dict[str, str | None]:
        """The change relative to the base, in path order."""
        return settle(self._tree, self._change)

    @property
    def view(self) -> View:
        """The current files, tests included."""
        return View(self._tree, {**self._change, **self._tests})

    @property
    def sources(self) -> Change:
        """The change without changes of existing tests."""
        return {path: text for path, text in self.change.items() if not self._is_existing_test(path)}

    @property
    def test_changes(self) -> Change:
        """The changes of existing tests. They are proposals; TESTING decides on them (`agent.changed_tests`)."""
        return {path: text for path, text in self.change.items() if self._is_existing_test(path)}

    def _is_existing_test(self, path: str) -> bool:
        if not is_suite(path) or path not in self._tree.entries() or path in self._spec.files:
            return False
        return is_test_file(path, base_text(self._tree, path) or "", self._change.get(path) or "")

    def before(self, path: str) -> str:
        """Return a file's text from before the agent began: the task's file or the base's; empty if there was none."""
        return self._spec.files.get(path, base_text(self._tree, path)) or ""

    def restore(self, change: Change) -> None:
        """Replace the change by a stored one. All paths whose text this alters are added to `taken`."""
        before, self._change = self.change, dict(change)
        paths = sorted({path for path, _ in before.items() ^ change.items()})
        self.taken += [path for path in paths if path not in self.taken]

    def put(self, path: str, text: str | None, *, raw: bool = False) -> None:
        """Write a file, or remove it. The file keeps its encoding and line ends (`agent.file_form`).

        Args:
            path: the file's path.
            text: the text from a model, or None to remove the file.
            raw: True if `text` is already the file's exact content, for example because a program wrote the file.

        Raises:
            BadReply: the text leaves parts out, or the file may not be written. A refused path is remembered.
        """
        if text is not None and (fault := self._find_omission(path, text)):
            raise BadReply(fault)
        paths, refused = list[str](), dict[str, str]()
        self._put(path, text, paths, refused, raw=raw)
        self.refused |= refused
        for refused_path, why in refused.items():
            raise BadReply(f"{refused_path} {why}.")
        self.taken += [each for each in paths if each not in self.taken]

    def take(self, parsed: Parsed) -> Taken:
        """Apply a reply's files, edits, moves and deletions to the change, unless they are forbidden or do not fit."""
        paths, faults, refused = list[str](), list(parsed.complaints), dict[str, str]()
        for path, text in parsed.files.items():
            if left_out := self._find_omission(path, text):
                faults.append(left_out)
            else:
                self._put(path, text, paths, refused)
        missed = [(edit.path, fault) for edit in parsed.edits if (fault := self._edit(edit, paths, refused))]
        moves = [(old, new) for old, new in parsed.moves.items() if old not in {**dict(missed), **refused}]
        faults += [fault for _, fault in missed]
        faults += [fault for old, new in moves if (fault := self._move(old, new, paths, refused))]
        for path in parsed.deletions:
            if path in View(self._tree, self._change):
                self._put(path, None, paths, refused)
            else:
                faults.append(f"{path}: cannot be removed, there is no such file.")
        self.taken += [path for path in dict.fromkeys(paths) if path not in self.taken]
        self.refused |= refused
        return Taken(paths=tuple(dict.fromkeys(paths)), faults=tuple(faults), refused=tuple(refused.items()))

    def _put(
        self, path: str, text: str | None, paths: list[str], refused: dict[str, str], *, raw: bool = False
    ) -> None:
        now = View(self._tree, self._change)
        path = now.spell(path)
        if why := self._refusal(path, text):
            refused[path] = why
            return
        try:
            self._change[path] = text if raw or text is None else write_like(text, now.raw(path))
            paths.append(path)
        except UnicodeEncodeError as error:
            sign = error.object[error.start]
            refused[path] = f"is in {error.encoding}, which has no {sign!r} (U+{ord(sign):04X}); write it otherwise"

    def _find_omission(self, path: str, text: str) -> str:
        """Return a complaint if a text lacks parts of its file; else an empty string.

        Parts are missing if a placeholder line stands for them, or if definitions disappear although nobody asked to
        remove them.
        """
        before = View(self._tree, self._change).text(path) or ""
        if lazy := lazy_line(before, text):
            return f"{path}: {lazy}, stands for the rest, which the file has: send it too, or an edit of what changes."
        gone = find_lost_definitions(before, text)
        if not gone or path in self._asked_about or asks_to_take_away(self._spec):
            return ""
        if all(name in self._spec.description for name in gone):
            return ""
        self._asked_about.add(path)
        names = ", ".join(gone[:12])
        return f"{path}: {names} would be gone, unasked. Send the file with them, or again if that is meant."

    def _refusal(self, path: str, text: str | None) -> str | None:
        spec = self._spec
        before, given, asked = base_text(self._tree, path), spec.tests, spec.description
        why = protected_files.refusal(
            path, text, before=before, given=given, asked=asked, own=spec.files, takes_away=asks_to_take_away(spec)
        )
        if has_label(path) and path not in self._tree.entries():
            return "has a label or quotes in its name; give the path alone"
        if why := why or find_misplacement(path, View(self._tree, self._change), new=text is not None):
            return why
        return None if text is None else self._too_much(path, text, len(before or ""))

    def _too_much(self, path: str, text: str, before_chars: int) -> str | None:
        others = [held or "" for name, held in self._change.items() if name != path]
        if len(text) > max(MAX_FILE_CHARS, before_chars):
            return f"is longer than {MAX_FILE_CHARS} characters"
        if len(others) >= MAX_FILES or sum(map(len, others)) + len(text) > MAX_TOTAL_CHARS:
            return f"is too much: a change holds at most {MAX_FILES} files and {MAX_TOTAL_CHARS} characters together"
        return None

    def _move(self, old: str, new: str, paths: list[str], refused: dict[str, str]) -> str:
        """Rename a file without changing its content. Return a complaint, or an empty string if it was renamed.

        The old path must exist, and the new path must be free.
        """
        view, before, moved = View(self._tree, self._change), dict(self._change), list[str]()
        text = view.raw(old := view.spell(old))
        if text is None:
            return f"{old}: cannot be moved, there is no such file."
        if new in view and new != old:
            return f"{old}: cannot be moved to {new}, which is there already; delete that first, if it is to go."
        for path, held in ((old, None), (new, text)):
            self._put(path, held, moved, refused, raw=True)
        if refused.keys() & {old, new}:
            self._change = before
        else:
            paths += moved
        return ""

    def _edit(self, edit: Edit, paths: list[str], refused: dict[str, str]) -> str | None:
        view = View(self._tree, self._change)
        edit = replace(edit, path=view.spell(edit.path))
        text = view.text(edit.path)
        if why := self._refusal(edit.path, text):
            refused[edit.path] = why
            return None
        if text is None and edit.search.strip():
            return f"{edit.path}: there is no such text file to edit; send it whole."
        if is_applied(text or "", self.before(edit.path), edit):
            paths.append(edit.path)  # An earlier reply or try made this edit.
            return None
        try:
            new = apply_edit(text or "", edit)
        except Refused as fault:
            return str(fault)
        if left_out := self._find_omission(edit.path, new):
            return left_out
        self._put(edit.path, new, paths, refused)
        return None
