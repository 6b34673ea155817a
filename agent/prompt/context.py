"""What of a repository goes into a prompt, within a budget.

Files that matter come first: those already changed, those the task names, those its tests import, what these import in
turn, and what the map of the repository says is near. As many as fit are shown whole, the next ones by their
signatures, the rest by name. Nothing is cut in the middle of a file, so a model never edits what it has not seen to the
end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent import javascript_outline
from agent.file_ranking import Interest, ranked, read, words_of
from agent.prompt.budget import Shown
from agent.prompt.text import fenced, quoted
from agent.python_outline import local_files, signatures, wanted_files
from agent.symbols import SymbolCache
from agent.view import View
from core.attempt_state import AttemptContext, AttemptState
from core.gauge import Gauge
from core.javascript import is_source
from core.paths import is_test_path
from core.tasks import Files

_WORD = re.compile(r"[\w./-]{3,200}")
_NAMED = re.compile(r".*\w\.[A-Za-z]\w{0,9}")
_LISTED = 120
_MAX_RELEVANT = 40
_MAX_NEAR = 10
_MAX_OUTLINE = 60
_ONLY_SIGNATURES = "Only their signatures are shown, the files are longer:"
_TOO_LONG = "Too long to be shown: "
_PLAIN = Gauge()
_QUOTE_TOKENS = 40
"""The two marker lines of a quotation, and the line breaks around them."""
_LARGE_CHARS = 200_000


def estimate_tokens(text: str) -> int:
    """Tokens of a text, roughly, where it is not known who will read it."""
    return _PLAIN.tokens(text)


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


def expected_files(context: AttemptContext, state: AttemptState, view: View) -> list[str]:
    """The files that a single unnamed block can be: what is being changed, what the tests import, what the task names.

    The first of these sources that names exactly one file decides; when none does, all that they name.
    """
    spec = context.task.spec
    tests = {**spec.tests, **state.own_tests}
    sources = [
        [path for path in state.change if not is_test_path(path)],
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


def surroundings(context: AttemptContext, state: AttemptState, view: View, symbol_cache: SymbolCache) -> Surroundings:
    """The existing files that matter for the task, at most forty, and further ones by rank (`agent.file_ranking`).

    Those that are named or imported come before those that are only near. The daemon's own workspace holds the files of
    other tasks, so there nothing is looked for beyond what is named. Reads many files the first time: not for the loop.
    """
    chosen = _pointed_to(context, state, view)
    if not context.whole_tree:
        return Surroundings(matter=tuple(chosen)[:_MAX_RELEVANT])
    interest = Interest(files=frozenset(chosen), words=words_of(f"{context.task.spec.description}\n{state.plan}"))
    tests = {**context.task.spec.tests, **state.own_tests}
    near = [path for path, _ in ranked(read(view, symbol_cache), interest) if path not in chosen and path not in tests]
    space = max(0, min(_MAX_NEAR, _MAX_RELEVANT - len(chosen)))
    return Surroundings(matter=(*tuple(chosen)[:_MAX_RELEVANT], *near[:space]), around=tuple(near[space:]))


def _pointed_to(context: AttemptContext, state: AttemptState, view: View) -> list[str]:
    """Existing files that are changed, named, or imported by what is, in this order."""
    spec = context.task.spec
    tests = {**spec.tests, **state.own_tests}
    first = [
        *state.change,
        *spec.files,
        *mentioned(f"{spec.description}\n{state.plan}", view, by_name=context.whole_tree),
    ]
    first += [path for place, text in tests.items() for path in _imported(place, text, view)]
    first += mentioned(state.feedback, view, by_name=context.whole_tree)
    chosen = dict.fromkeys(path for path in first if path in view and path not in tests)
    for path in list(chosen)[:_MAX_RELEVANT]:
        chosen.update(dict.fromkeys(p for p in _imported(path, view.text(path) or "", view) if p not in tests))
    return list(chosen)


def _imported(path: str, text: str, view: View) -> list[str]:
    return javascript_outline.local_files(path, text, view) if is_source(path) else local_files(text, view)


def _wanted(path: str, text: str, view: View) -> list[str]:
    return javascript_outline.wanted_files(path, text, view) if is_source(path) else wanted_files(text, view)


def face(path: str, text: str) -> list[str]:
    """The signatures of a file of Python, JavaScript or TypeScript; none of any other."""
    return javascript_outline.signatures(path, text) if is_source(path) else signatures(text)


def outlines(view: View, paths: Sequence[str], space: int, gauge: Gauge = _PLAIN) -> Shown:
    """Files by what they define, in the order given, as many as fit into the tokens; each whole or not."""
    shown, names = list[str](), list[str]()
    space -= _QUOTE_TOKENS
    for path in paths:
        outline = _outline(path, view.text(path) or "")
        space -= gauge.tokens(outline + "\n")
        if space < 0:
            break
        if "\n" in outline:
            shown.append(outline)
            names.append(path)
    return Shown(text=quoted("outlines", "\n".join(shown)), outlined=tuple(names)) if shown else Shown()


def _outline(path: str, text: str) -> str:
    lines = face(path, text)
    more = [f"    … and {len(lines) - _MAX_OUTLINE} more"] if len(lines) > _MAX_OUTLINE else []
    return "\n".join([f"{path}:", *("    " + line for line in lines[:_MAX_OUTLINE]), *more])


def show_files(view: View, paths: Sequence[str], space: int, gauge: Gauge = _PLAIN) -> Shown:
    """Files as data: whole while they fit into the tokens, then signatures, then names; the rest is counted."""
    whole, outlined, names = dict[str, str](), dict[str, str](), list[str]()
    heads = [_ONLY_SIGNATURES, _TOO_LONG]
    space -= _QUOTE_TOKENS + sum(gauge.tokens(head) for head in heads)
    for path in paths:
        text = view.text(path)
        for form, kept in ((_whole, whole), (_signed, outlined)):
            shape = form(path, text)
            size = gauge.tokens(shape + "\n\n") if shape else 0
            if 0 < size <= space:
                kept[path] = shape
                space -= size
                break
        else:
            names.append(path)
    listed = _fitting(names[:_LISTED], space, gauge)
    rest = len(names) - len(listed)
    parts = ["\n\n".join(whole.values())]
    parts += [_ONLY_SIGNATURES + "\n" + "\n".join(outlined.values())] if outlined else []
    parts += [_TOO_LONG + ", ".join(listed) + (f" and {rest} more" if rest else "")] if listed else []
    text = "\n\n".join(part for part in parts if part)
    text = quoted("files", text) if text else ""
    return Shown(text=text, whole=tuple(whole), outlined=tuple(outlined), named=tuple(listed), left_out=rest)


def _whole(path: str, text: str | None) -> str:
    return fenced(path, text) if text is not None else ""


def _signed(path: str, text: str | None) -> str:
    """The outline of a file, where it has one; signatures of very long texts are not worth their time."""
    outline = _outline(path, text) if text and len(text) <= _LARGE_CHARS else ""
    return outline if "\n    " in outline else ""


def _fitting(lines: Sequence[str], space: int, gauge: Gauge) -> list[str]:
    """The first of the lines, as many as fit."""
    return list(_taken(lines, space, gauge))


def _taken(lines: Sequence[str], space: int, gauge: Gauge) -> Iterator[str]:
    for line in lines:
        space -= gauge.tokens(line + ", ")
        if space < 0:
            return
        yield line


def listing(
    view: View, matter: Sequence[str], *, whole_tree: bool, space: int = 1_000_000, gauge: Gauge = _PLAIN
) -> Shown:
    """The names of the files: all of a small repository, the folders of a large one, none of other tasks' files."""
    if not view.count():
        return Shown(text="The repository is empty.")
    space -= 2 * _QUOTE_TOKENS
    if not whole_tree:
        others, listed = view.count() - len(matter), _fitting(matter, space, gauge)
        text = quoted("file names", "\n".join(listed) or "(none of its files seems to matter here)")
        return Shown(text=text + (f"\n{others} files of other tasks lie beside them." if others else ""))
    paths = view.paths()
    if len(paths) <= _LISTED:
        listed = _fitting(paths, space, gauge)
        more = f"\nand {len(paths) - len(listed)} more." if len(listed) < len(paths) else ""
        return Shown(text=quoted("file names", "\n".join(listed)) + more)
    folders = Counter(path.rsplit("/", 1)[0] + "/" if "/" in path else "./" for path in paths)
    lines = [f"{folder} ({count} files)" for folder, count in sorted(folders.items())[:_LISTED]]
    return Shown(text=quoted("folders", "\n".join(_fitting(lines, space, gauge))) + f"\n{len(paths)} files in all.")


def show_tests(tests: Files, space: int, gauge: Gauge = _PLAIN) -> Shown:
    """Tests as data: whole while they fit, else the names of their functions."""
    return show_files(View(_NoTree(), tests), list(tests), space, gauge)


class _NoTree:
    """A tree without files."""

    commit = ""

    def entries(self) -> dict[str, str]:
        return {}

    def unwritable(self) -> frozenset[str]:
        return frozenset()

    def read(self, path: str) -> bytes:
        raise KeyError(path)
