"""What of a repository goes into a prompt, within a budget.

Files that matter come first: those already changed, those the task names, those its tests import, what these import in
turn, and what the map of the repository says is near. As many as fit are shown whole, the next ones by their
signatures, the rest by name. Nothing is cut in the middle of a file, so a model never edits what it has not seen to the
end.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent import js_map
from agent.atlas import Interest, Shelf, ranked, read, words_of
from agent.prompting import fenced, quoted
from agent.repo_map import local_files, signatures, wanted_files
from agent.view import View
from core.javascript import is_source
from core.paths import is_test_path
from core.tasks import Files
from core.work import Case, Work

CHARS_PER_TOKEN = 3.6
_WORD = re.compile(r"[\w./-]{3,200}")
_NAMED = re.compile(r".*\w\.[A-Za-z]\w{0,9}")
_LISTED = 120
_MAX_RELEVANT = 40
_MAX_NEAR = 10
_MAX_OUTLINE = 60


def estimate_tokens(text: str) -> int:
    """Tokens of a text, roughly: code and prose lie near 3.6 characters a token for common tokenizers."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def _named(text: str) -> list[str]:
    """Words that have the form of a file's name, in order; in time linear in the text, whatever it holds."""
    words = (found.strip(".-").removeprefix("/") for found in _WORD.findall(text[:100_000]))
    return list(dict.fromkeys(word for word in words if _NAMED.fullmatch(word)))


def mentioned(text: str, view: View, *, by_name: bool = True) -> list[str]:
    """The existing files that a text names by path or, with `by_name`, by a file name that only one of them has."""
    words = _named(text)
    paths = [word for word in words if word in view]
    if not by_name or len(paths) == len(words):
        return paths
    bases: dict[str, list[str]] = {word: [] for word in words if "/" not in word}
    for path in view.paths():
        bases.get(path.rsplit("/", 1)[-1], []).append(path)
    return list(dict.fromkeys([*paths, *(found[0] for found in bases.values() if len(found) == 1)]))


def named_paths(text: str) -> list[str]:
    """Words of a text that have the form of a Python or JavaScript file's path, in order."""
    return [word for word in _named(text) if word.endswith((".py", ".js", ".mjs", ".cjs", ".ts"))]


def expected_files(case: Case, work: Work, view: View) -> list[str]:
    """The files that a single unnamed block can be: what is being changed, what the tests import, what the task names.

    The first of these sources that names exactly one file decides; when none does, all that they name.
    """
    spec = case.task.spec
    tests = {**spec.tests, **work.own_tests}
    sources = [
        [path for path in work.change if not is_test_path(path)],
        [path for place, text in tests.items() for path in _wanted(place, text, view)],
        [path for path in named_paths(spec.description) if not is_test_path(path) and path not in tests],
    ]
    found = [list(dict.fromkeys(source)) for source in sources]
    single = next((source for source in found if len(source) == 1), None)
    return single or list(dict.fromkeys(path for source in found for path in source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What of a repository is near a task: files that `matter`, the most important first, and what is `around` them."""

    matter: tuple[str, ...]
    around: tuple[str, ...] = ()


def surroundings(case: Case, work: Work, view: View, shelf: Shelf) -> Surroundings:
    """The existing files that matter for the task, at most forty, and further ones by rank (`agent.atlas`).

    Those that are named or imported come before those that are only near. The daemon's own workspace holds the files of
    other tasks, so there nothing is looked for beyond what is named. Reads many files the first time: not for the loop.
    """
    chosen = _pointed_to(case, work, view)
    if not case.whole_tree:
        return Surroundings(matter=tuple(chosen)[:_MAX_RELEVANT])
    interest = Interest(files=frozenset(chosen), words=words_of(f"{case.task.spec.description}\n{work.plan}"))
    tests = {**case.task.spec.tests, **work.own_tests}
    near = [path for path, _ in ranked(read(view, shelf), interest) if path not in chosen and path not in tests]
    room = max(0, min(_MAX_NEAR, _MAX_RELEVANT - len(chosen)))
    return Surroundings(matter=(*tuple(chosen)[:_MAX_RELEVANT], *near[:room]), around=tuple(near[room:]))


def _pointed_to(case: Case, work: Work, view: View) -> list[str]:
    """Existing files that are changed, named, or imported by what is, in this order."""
    spec = case.task.spec
    tests = {**spec.tests, **work.own_tests}
    first = [*work.change, *spec.files, *mentioned(f"{spec.description}\n{work.plan}", view, by_name=case.whole_tree)]
    first += [path for place, text in tests.items() for path in _imported(place, text, view)]
    first += mentioned(work.feedback, view, by_name=case.whole_tree)
    chosen = dict.fromkeys(path for path in first if path in view and path not in tests)
    for path in list(chosen)[:_MAX_RELEVANT]:
        chosen.update(dict.fromkeys(p for p in _imported(path, view.text(path) or "", view) if p not in tests))
    return list(chosen)


def _imported(path: str, text: str, view: View) -> list[str]:
    return js_map.local_files(path, text, view) if is_source(path) else local_files(text, view)


def _wanted(path: str, text: str, view: View) -> list[str]:
    return js_map.wanted_files(path, text, view) if is_source(path) else wanted_files(text, view)


def face(path: str, text: str) -> list[str]:
    """The signatures of a file of Python, JavaScript or TypeScript; none of any other."""
    return js_map.signatures(path, text) if is_source(path) else signatures(text)


def outlines(view: View, paths: Sequence[str], budget: int) -> str:
    """Files by what they define, in the order given, as many as fit into the budget of tokens; each whole or not."""
    shown = list[str]()
    for path in paths:
        outline = _outline(path, view.text(path) or "")
        budget -= estimate_tokens(outline)
        if budget < 0:
            break
        if "\n" in outline:
            shown.append(outline)
    return quoted("outlines", "\n".join(shown)) if shown else ""


def _outline(path: str, text: str) -> str:
    lines = face(path, text)
    more = [f"    … and {len(lines) - _MAX_OUTLINE} more"] if len(lines) > _MAX_OUTLINE else []
    return "\n".join([f"{path}:", *("    " + line for line in lines[:_MAX_OUTLINE]), *more])


def show_files(view: View, paths: Sequence[str], budget: int) -> str:
    """Files as data: whole while they fit into the budget of tokens, then signatures, then names."""
    whole, outlines, names = list[str](), list[str](), list[str]()
    for path in paths:
        text = view.text(path)
        shown = fenced(path, text) if text is not None else ""
        if shown and estimate_tokens(shown) <= budget:
            whole.append(shown)
            budget -= estimate_tokens(shown)
            continue
        outline = _outline(path, text or "")
        if "\n    " in outline and estimate_tokens(outline) <= budget:
            outlines.append(outline)
            budget -= estimate_tokens(outline)
        else:
            names.append(path)
    parts = ["\n\n".join(whole)]
    parts += ["Only their signatures are shown, the files are longer:\n" + "\n".join(outlines)] if outlines else []
    parts += ["Too long to be shown: " + ", ".join(names[:_LISTED])] if names else []
    return quoted("files", "\n\n".join(part for part in parts if part)) if any(parts) else ""


def listing(view: View, matter: Sequence[str], *, whole_tree: bool) -> str:
    """The names of the files: all of a small repository, the folders of a large one, none of other tasks' files."""
    if not view.count():
        return "The repository is empty."
    if not whole_tree:
        others = view.count() - len(matter)
        text = "\n".join(matter) or "(none of its files seems to matter here)"
        return quoted("file names", text) + (f"\n{others} files of other tasks lie beside them." if others else "")
    paths = view.paths()
    if len(paths) <= _LISTED:
        return quoted("file names", "\n".join(paths))
    folders = Counter(path.rsplit("/", 1)[0] + "/" if "/" in path else "./" for path in paths)
    lines = [f"{folder} ({count} files)" for folder, count in sorted(folders.items())[:_LISTED]]
    return quoted("folders", "\n".join(lines)) + f"\n{len(paths)} files in all."


def show_tests(tests: Files, budget: int) -> str:
    """Tests as data: whole while they fit, else the names of their functions."""
    return show_files(View(_NoTree(), tests), list(tests), budget)


class _NoTree:
    """A tree without files."""

    commit = ""

    def entries(self) -> dict[str, str]:
        return {}

    def unwritable(self) -> frozenset[str]:
        return frozenset()

    def read(self, path: str) -> bytes:
        raise KeyError(path)
