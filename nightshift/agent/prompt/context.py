"""Chooses parts of a repository for a prompt, within a budget.

The files that matter come first. They are the files that are already changed, that the task names, that the task's
tests import, and that these files import in turn. Files with a high rank by their words and references
(`agent.file_ranking`) also matter. As many files as fit are shown whole. A longer file is shown by the functions and
classes that the task is about, with an outline of the rest. Files for which no space is left are shown by their
signatures, then only by name. A function is always shown whole, so that no code is edited unseen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath

from nightshift.agent import javascript_outline
from nightshift.agent.file_ranking import Interest, by_words, interest_in, list_spoken_of, rank, read, weight_of
from nightshift.agent.prompt.budget import Shown, take_lines
from nightshift.agent.prompt.excerpts import excerpt, outline
from nightshift.agent.prompt.text import fence, quote
from nightshift.agent.python_outline import list_wanted_files, local_files
from nightshift.agent.symbols import SymbolCache
from nightshift.agent.view import View
from nightshift.core.code.documents import is_document
from nightshift.core.code.javascript import SOURCES, is_source
from nightshift.core.code.known_modules import OTHER_NAMES, SAME_NAMES
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import FileTree
from nightshift.core.gauge import Gauge
from nightshift.core.tasks import projects
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.task import Files

_WORD = re.compile(r"[\w./-]{3,200}")
_NAMED = re.compile(r".*\w\.[A-Za-z]\w{0,9}")
_DOCUMENT = re.compile(r"\b(?:readme|changelog)\b", re.IGNORECASE)
_LISTED = 120
_MAX_RELEVANT = 40
_MAX_NEAR = 6
_MAX_AROUND = 12
_AROUND_LINES = 15
_MOST_EXCERPTS = 3
_MAX_SHARED = 4
_MAX_TESTS, _MAX_OF_PROJECT = 6, 12
_PROJECT_FILES = ("README.md", *projects.DEPENDENCY_FILES)
_NEAR, _AROUND = 0.25, 0.08
"""Minimum ranks, relative to the highest rank: for a file that is shown whole, and for a file that is shown as an
outline.
"""
_OF_OTHERS = 60
_EXCERPT_SHARE = 0.6
_STRETCHES = "Of these only the stretches that the task seems to be about are shown, with their lines:"
_ONLY_SIGNATURES = "Only their signatures are shown, the files are longer:"
_BESIDE = "Files of other tasks that lie beside:"
_TOO_LONG = "Too long to be shown: "
_PLAIN = Gauge()
_QUOTE_TOKENS = 40
"""Tokens of the two marker lines of a quotation and the line breaks around them."""
_LARGE_CHARS = 200_000


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text when the model that will read it is not known."""
    return _PLAIN.tokens(text)


def _list_names(text: str) -> list[str]:
    """List the words that look like file names, in order. The time is linear in the length of any text."""
    words = (word.strip(".-").removeprefix("/") for word in _WORD.findall(text[:100_000]))
    return list(dict.fromkeys(word for word in words if _NAMED.fullmatch(word)))


def list_mentioned(text: str, view: View, *, by_name: bool = True) -> list[str]:
    """List the existing files that a text names by path or, with `by_name`, by a file name that is unique.

    A README or changelog at the root may also be named without its extension.
    """
    words = _list_names(text)
    paths = [word for word in words if word in view]
    spoken = {word.lower() for word in _DOCUMENT.findall(text[:100_000])}
    if not by_name or not (spoken or len(paths) < len(words)):
        return paths
    if spoken:
        paths += [path for path in view.paths() if "/" not in path and path.partition(".")[0].lower() in spoken]
    bases: dict[str, list[str]] = {word: [] for word in words if "/" not in word}
    for path in view.paths():
        bases.get(path.rsplit("/", 1)[-1], []).append(path)
    return list(dict.fromkeys([*paths, *(namesakes[0] for namesakes in bases.values() if len(namesakes) == 1)]))


def list_named_paths(text: str) -> list[str]:
    """List the words of a text that look like paths of Python, JavaScript or Go files, in order."""
    return [word for word in _list_names(text) if word.endswith((".py", ".go", *SOURCES))]


def list_named_pages(text: str) -> list[str]:
    """List the words of a text that look like paths of documents, such as `README.md`, in order."""
    return [word for word in _list_names(text) if is_document(word)]


_FACES = ("__init__", "index")
"""Stems of files that represent their folder in imports."""
_DEFINES = re.compile(
    r"^(?:export )?(?:default )?(?:async )?(?:def|class|function\*?|const|let|var) +(\w+)", re.MULTILINE
)
"""Matches a definition at the top level of a Python or JavaScript file."""


def list_expected_files(context: AttemptContext, state: AttemptState, view: View) -> list[str]:
    """List the files that may be meant by a single code block without a file name.

    Four lists are checked in this order: the changed files, the modules that the tests import, the files that the task
    names, and the packages that the tests import. The first list with exactly one file is returned. If no list has
    exactly one file, the files of all lists are returned. A package that only passes on what the task names stands for
    the file that defines it; packages do not count if the task names files.
    """
    spec, laid_out = context.task.spec, projects.LAID_OUT if state.project else ()
    tests = {**spec.tests, **state.own_tests}
    wanted = (path for test_path, text in tests.items() for path in _list_wanted(test_path, text, view))
    named = [
        path
        for path in list_named_paths(projects.without_folder(spec.description, state.project, view.paths()))
        if not is_test_path(path) and path not in tests
    ]
    meant = (_find_wanted(path, named, view) if context.whole_tree else path for path in wanted)
    imported = [path for path in meant if path and not is_test_path(path)]
    modules = [path for path in imported if PurePosixPath(path).stem not in _FACES]
    faces: list[str] = []
    if not (named or modules):
        faces = [path for face in imported for path in _look_through(face, spec.description, view)]
    sources = [
        [path for path in state.change if not is_test_path(path) and path not in laid_out],
        modules,
        named,
        faces,
    ]
    candidates = [list(dict.fromkeys(source)) for source in sources]
    single = next((source for source in candidates if len(source) == 1), None)
    return single or list(dict.fromkeys(path for source in candidates for path in source))


def _find_wanted(path: str, named: Sequence[str], view: View) -> str:
    """Return the path at which a file that the tests import is, or belongs; empty if it is part of a library."""
    if path in view or path in named:
        return path
    path = next((name for name in named if name.endswith(f"/{path}")), "") or _locate(path, view)
    return "" if path not in view and path not in named and _is_of_library(path, view) else path


def _locate(path: str, view: View) -> str:
    """Return the path of a Python module that is, or whose package is, below another source root of the repository.

    A source root, such as `src/` or `packages/a/src/`, is no package itself. Without one, return the path unchanged.
    """
    module, paths = path.removesuffix(".py"), view.paths()
    if module == path:
        return path
    package = module.partition("/")[0]
    for ending, rest in ((f"{module}.py", ""), (f"{module}/__init__.py", ""), (f"{package}/__init__.py", path)):
        for each in paths:
            root = each.removesuffix(ending)
            if each.endswith(f"/{ending}") and f"{root}__init__.py" not in view:
                return root + rest if rest else each
    return path


def _is_of_library(path: str, view: View) -> bool:
    """Check whether a missing module belongs to a well-known library: a submodule, or one that a file declares."""
    package, _, rest = path.removesuffix(".py").partition("/")
    if package not in SAME_NAMES and package not in OTHER_NAMES:
        return False
    names = {package.lower(), *(name.lower() for name in OTHER_NAMES.get(package, ()))}
    declared = " ".join(view.text(name) or "" for name in projects.DEPENDENCY_FILES).lower()
    return bool(rest) or any(name in declared for name in names)


def _look_through(face: str, words: str, view: View) -> list[str]:
    """List the files from which a package takes what the words name, or the package's own file if there is none."""
    spoken = set(re.findall(r"\w+", words))
    behind = [_find_wanted(path, (), view) for path in _list_wanted(face, view.text(face) or "", view)]
    return [path for path in behind if spoken & set(_DEFINES.findall(view.text(path) or ""))] or [face]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The files near a task: files that `matter`, the most important first, and further files `around` them."""

    matter: tuple[str, ...]
    around: tuple[str, ...] = ()
    interest: Interest = field(default_factory=Interest)


def surroundings(context: AttemptContext, state: AttemptState, view: View, symbol_cache: SymbolCache) -> Surroundings:
    """Return at most forty existing files that matter for the task, and further ones by rank (`agent.file_ranking`).

    Named and imported files come before files that only share words with the task. In the daemon's own workspace, which
    holds the files of other tasks, sharing words is not enough: a file counts only if the task mentions it or another
    file of its project. Tests are added from the task's own project. Reads many files the first time, so do not call it
    on the event loop.
    """
    chosen = _list_targets(context, state, view)
    interest = interest_in(_words(context, state, view), frozenset(chosen))
    tests = {**context.task.spec.tests, **state.own_tests}
    if not context.sees_all(state):
        mentioned_files = _list_mentioned(chosen, interest, view, tests, symbol_cache)
        return Surroundings(matter=mentioned_files[:_MAX_RELEVANT], interest=interest)
    ranks = rank(read(view, symbol_cache), interest, view.text)
    order = [(path, rank) for path, rank in ranks if path not in tests]
    most = max((rank for _, rank in order), default=0.0)
    rest = [(path, rank / most) for path, rank in order if path not in chosen]
    space = max(0, min(_MAX_NEAR, _MAX_RELEVANT - len(chosen)))
    near = [path for path, rank in rest if rank >= _NEAR and weight_of(path) == 1.0][:space]
    around = [
        path for path, rank in rest if rank >= _AROUND * (1 if weight_of(path) == 1.0 else 2) and path not in near
    ][:_MAX_AROUND]
    matter = dict.fromkeys((*chosen[:_MAX_RELEVANT], *near))
    if state.project:
        nearest = (path for path, _ in order if is_test_path(path))
        matter |= dict.fromkeys((*_PROJECT_FILES, *_tests_of(matter, nearest, view)))
    return Surroundings(matter=tuple(path for path in matter if path in view), around=tuple(around), interest=interest)


def _tests_of(matter: Collection[str], tests: Iterable[str], view: View) -> list[str]:
    """Return some of the project's tests that import files that matter, because such tests may contradict the task."""
    importers = (
        path for path in tests if not set(_list_imported(path, view.text(path) or "", view)).isdisjoint(matter)
    )
    return list(islice(importers, _MAX_TESTS))


def _list_mentioned(
    chosen: Sequence[str], interest: Interest, view: View, tests: Files, symbol_cache: SymbolCache
) -> tuple[str, ...]:
    """Return the chosen files, then other tasks' files that the task mentions, then files related to the latter.

    Related files are the files that the mentioned files import, and the other sources of the mentioned files' projects.
    """
    spoken = {
        path: file_tags
        for path, file_tags in list_spoken_of(view, interest, symbol_cache).items()
        if path not in chosen and path not in tests and weight_of(path) == 1.0
    }
    scores = by_words(spoken, interest) if len(spoken) > _MAX_SHARED else dict.fromkeys(spoken, 1.0)
    nearest = sorted(spoken, key=lambda path: (-scores.get(path, 0.0), path))[:_MAX_SHARED]
    imported = (near for path in nearest for near in _list_imported(path, view.text(path) or "", view))
    return tuple(dict.fromkeys([*chosen, *nearest, *imported, *_of_projects(nearest, view)]))


def _of_projects(paths: Sequence[str], view: View) -> list[str]:
    """Return the README and some sources of the projects that hold these files."""
    project_names = set(projects.projects_of(view.tree))
    homes = dict.fromkeys(home for path in paths if (home := path.partition("/")[0]) in project_names)
    if not homes:
        return []
    readmes = {f"{home}/README.md" for home in homes}
    inside = [path for path in view.paths() if path.partition("/")[0] in homes]
    return [path for path in inside if path in readmes or weight_of(path) == 1.0][:_MAX_OF_PROJECT]


def _list_targets(context: AttemptContext, state: AttemptState, view: View) -> list[str]:
    """List the existing files that are changed or named, then the files that these files or the tests import."""
    spec = context.task.spec
    tests = {**spec.tests, **state.own_tests}
    first = [
        *state.change,
        *spec.files,
        *list_mentioned(_words(context, state, view), view, by_name=context.sees_all(state)),
        *filter(None, map(state.scope.inside, context.built_on)),
    ]
    first += [path for test_path, text in tests.items() for path in _list_imported(test_path, text, view)]
    first += list_mentioned(state.feedback, view, by_name=context.sees_all(state))
    chosen = dict.fromkeys(path for path in first if path in view and path not in tests)
    for path in list(chosen)[:_MAX_RELEVANT]:
        chosen.update(dict.fromkeys(p for p in _list_imported(path, view.text(path) or "", view) if p not in tests))
    return list(chosen)


def _words(context: AttemptContext, state: AttemptState, view: View) -> str:
    """Join the words of task, plan, answers and messages; a leading project folder is removed from paths."""
    asked = (*(state.brief.questions if state.brief else ()), *state.questions)
    answers = (context.answers.get(question.subject, "") or question.answer for question in asked)
    messages = (message.text for message in context.messages)
    words = "\n".join([context.task.spec.description, state.plan, *filter(None, answers), *messages])
    return projects.without_folder(words, state.project, view.paths())


def _list_imported(path: str, text: str, view: View) -> list[str]:
    return javascript_outline.local_files(path, text, view) if is_source(path) else local_files(text, view)


def _list_wanted(path: str, text: str, view: View) -> list[str]:
    return javascript_outline.list_wanted_files(path, text, view) if is_source(path) else list_wanted_files(text, view)


def outlines(view: View, near: Surroundings, space: int, gauge: Gauge = _PLAIN) -> Shown:
    """Outline the files in `near.around`, as many as fit into the tokens.

    If an outline is too long, the lines nearest to the task are preferred.
    """
    shown, names = list[str](), list[str]()
    space -= _QUOTE_TOKENS
    for path in near.around:
        shape = outline(path, view.text(path) or "", near.interest, _AROUND_LINES)
        space -= gauge.tokens(shape + "\n")
        if space < 0:
            break
        if "\n" in shape:
            shown.append(shape)
            names.append(path)
    return Shown(text=quote("outlines", "\n".join(shown)), outlined=tuple(names)) if shown else Shown()


def show_files(
    view: View, paths: Sequence[str], space: int, gauge: Gauge = _PLAIN, interest: Interest | None = None
) -> Shown:
    """Show files as data: whole while they fit into the tokens, then in parts, then by name; the rest is counted.

    With an `interest`, a file that takes too much space is shown by the parts that the interest is about. Without one,
    or if no part fits, it is shown by its signatures.
    """
    full_texts, stretches, outlined, names = dict[str, str](), dict[str, str](), dict[str, str](), list[str]()
    space -= _QUOTE_TOKENS + sum(gauge.tokens(head) for head in (_STRETCHES, _ONLY_SIGNATURES, _TOO_LONG))
    texts = {path: view.text(path) for path in paths}
    sizes = {path: gauge.tokens(_fence_file(path, text) + "\n\n") for path, text in texts.items() if text is not None}
    rest = sum(sizes.values())
    for path, text in texts.items():
        size = sizes.get(path, 0)
        rest -= size
        if 0 < size <= (space if interest is None else max(space // 2, space - rest)):
            full_texts[path] = _fence_file(path, text)
            space -= size
            continue
        forms = (
            [(stretches, _stretches(text, path, interest, int(space * _EXCERPT_SHARE), gauge))]
            if interest and len(stretches) < _MOST_EXCERPTS
            else []
        )
        forms.append((outlined, _outline_file(path, text)))
        for shapes, shape in forms:
            if shape and gauge.tokens(shape + "\n\n") <= space:
                shapes[path] = shape
                space -= gauge.tokens(shape + "\n\n")
                break
        else:
            names.append(path)
    listed = take_lines(names[:_LISTED], space, gauge)
    away = len(names) - len(listed)
    parts = ["\n\n".join(full_texts.values())]
    parts += [_STRETCHES + "\n\n" + "\n\n".join(stretches.values())] if stretches else []
    parts += [_ONLY_SIGNATURES + "\n" + "\n".join(outlined.values())] if outlined else []
    parts += [_TOO_LONG + ", ".join(listed) + (f" and {away} more" if away else "")] if listed else []
    text = "\n\n".join(part for part in parts if part)
    text = quote("files", text) if text else ""
    return Shown(
        text=text, in_full=tuple(full_texts), outlined=(*stretches, *outlined), named=tuple(listed), left_out=away
    )


def _fence_file(path: str, text: str | None) -> str:
    return fence(path, text) if text is not None else ""


def _stretches(text: str | None, path: str, interest: Interest, space: int, gauge: Gauge) -> str:
    return excerpt(path, text, interest, space, gauge) if text and space > 0 else ""


def _outline_file(path: str, text: str | None) -> str:
    """Return the outline of a file, if it has one.

    Empty for a very long text, whose outline would take too much time.
    """
    shape = outline(path, text) if text and len(text) <= _LARGE_CHARS else ""
    return shape if "\n    " in shape else ""


def listing(
    view: View, matter: Sequence[str], *, whole_tree: bool, space: int = 1_000_000, gauge: Gauge = _PLAIN
) -> Shown:
    """List file names: all of a small repository, only the folders of a large one."""
    if not view.count():
        return Shown(text="The repository is empty.")
    space -= 2 * _QUOTE_TOKENS
    if not whole_tree:
        return _list_shared(view, matter, space, gauge)
    paths = view.paths()
    if len(paths) <= _LISTED:
        listed = take_lines(paths, space, gauge)
        more = f"\nand {len(paths) - len(listed)} more." if len(listed) < len(paths) else ""
        return Shown(text=quote("file names", "\n".join(listed)) + more)
    folders = Counter(path.rsplit("/", 1)[0] + "/" if "/" in path else "./" for path in paths)
    lines = [f"{folder} ({count} files)" for folder, count in sorted(folders.items())[:_LISTED]]
    return Shown(text=quote("folders", "\n".join(take_lines(lines, space, gauge))) + f"\n{len(paths)} files in all.")


def _list_shared(view: View, matter: Sequence[str], space: int, gauge: Gauge) -> Shown:
    """List files of the daemon's own workspace: files that matter, then sources of other tasks.

    Further files are counted.
    """
    listed = take_lines(matter, space, gauge)
    matter_paths = set(matter)
    others = [path for path in view.paths() if path not in matter_paths]
    sources = list(islice((path for path in others if not is_test_path(path)), _OF_OTHERS))
    beside = take_lines(sources, space - sum(gauge.tokens(path + ", ") for path in listed), gauge)
    text = quote("file names", "\n".join(listed)) if listed else ""
    if others:
        more = f"\nand {len(others) - len(beside)} more" if len(others) > len(beside) else ""
        text += f"\n{_BESIDE}\n" + quote("file names", ", ".join(beside) + more)
    return Shown(text=text.strip())


def show_tests(tests: Files, space: int, gauge: Gauge = _PLAIN) -> Shown:
    """Show tests as data: whole while they fit, else the names of their functions."""
    return show_files(View(FileTree({}), tests), list(tests), space, gauge)
