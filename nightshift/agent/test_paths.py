"""Chooses the paths of the agent's own tests: a file named after the tested module, near the existing tests.

A file name that an existing test file has is not used again, even in another folder: pytest refuses two test files of
the same name if their folders are not packages.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator

from nightshift.agent.services import AgentServices
from nightshift.agent.view import View, base_text
from nightshift.core.code import golang
from nightshift.core.code.javascript import TYPED, Framework, choose_framework, is_source
from nightshift.core.code.line_changes import list_written_lines
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.attempt_state import AttemptContext
from nightshift.core.tasks.commit_message import slug
from nightshift.core.tasks.task import Change, Files, Language

_MOST_CHARS = 32
_TEST_FOLDERS = ("tests", "test", "__tests__")
_FORMS = {Language.PYTHON: "test_{}.py", Language.JAVASCRIPT: "{}.test.mjs", Language.GO: "{}_test.go"}
_SCRIPT_TEST = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$")


def suggest(context: AttemptContext, services: AgentServices, change: Change) -> str:
    """Return a free path for the tests of a change."""
    language, tree, reader = context.task.spec.language, services.tree, services.languages
    module = _main_module(tree, change, language)
    text = View(tree, change).text(module) or ""
    # Go's tests are beside the code, in its package.
    folder = module[: module.rfind("/") + 1] if language is Language.GO else _folder(module, tree, language)
    words = _shorten(_snake(slug(context.task.spec.description)).strip("_"))
    touched = reader.list_touched(module, text, base_text(tree, module)) if reader else []
    what = [_shorten(_snake(name)) for name in touched[:1]]
    stem = _stem(module) or words
    taken = {path.rpartition("/")[2] for path in tree.entries() if is_test_path(path)}
    form = _form_of_script(module, tree) if language is Language.JAVASCRIPT else _FORMS[language]
    names = (form.format(name) for name in _names(stem, [*what, words]))
    return folder + next(name for name in names if name not in taken)


def move_tests(tests: Files, tree: Tree) -> dict[str, str]:
    """Rename tests whose path now exists in the tree, for example because newer work added a file there."""
    moved_tests, taken = dict[str, str](), set(tree.entries())
    for path, text in tests.items():
        free = path
        if path in taken:
            stem, ending = re.fullmatch(r"(.*?)((?:\.test|\.spec|_test)?\.\w+)", path).groups()  # type: ignore[union-attr]
            free = next(name for name in (f"{stem}_{n}{ending}" for n in range(2, 10_000)) if name not in taken)
        taken.add(free)
        moved_tests[free] = text
    return moved_tests


def _names(stem: str, more: Collection[str]) -> Iterator[str]:
    yield stem
    longer = [f"{stem}_{name}" for name in more if name and name != stem]
    yield from longer
    yield from (f"{[stem, *longer][-1]}_{number}" for number in range(2, 10_000))


def _main_module(tree: Tree, change: Change, language: Language) -> str:
    """Return the changed source file with the most new lines; empty if there is none."""
    sources = [path for path, text in change.items() if text is not None and not is_test_path(path)]
    of = {Language.PYTHON: lambda path: path.endswith(".py"), Language.GO: golang.is_source}
    mine = [path for path in sources if of.get(language, is_source)(path)]
    return max(mine, key=lambda path: _weight(path, tree, change), default="")


def _weight(path: str, tree: Tree, change: Change) -> tuple[bool, int]:
    return bool(_stem(path)), len(list_written_lines(base_text(tree, path) or "", View(tree, change).text(path) or ""))


def _stem(module: str) -> str:
    """Return the name of a module; for a package, the name of its folder."""
    *folders, name = module.split("/")
    stem = name.partition(".")[0]
    return _snake((folders or [""])[-1] if stem in {"__init__", "__main__", "index"} else stem)


def _form_of_script(module: str, tree: Tree) -> str:
    """Return the pattern for test file names of a JavaScript or TypeScript module, such as `{}.test.ts`.

    The pattern follows the existing tests. It has the module's extension if the test framework can run that.
    """
    form = _FORMS[Language.JAVASCRIPT]
    if choose_framework(module, lambda path: base_text(tree, path)) is Framework.NODE:
        typed = [path for path in tree.entries() if is_test_path(path) and path.endswith(TYPED)]
        return "{}.test.ts" if typed and module.endswith(TYPED) else form
    counts = Counter(match[1] for path in tree.entries() if (match := _SCRIPT_TEST.search(path)))
    kind = counts.most_common(1)[0][0] if counts else "test"
    ending = posixpath.splitext(module)[1]
    return f"{{}}.{kind}{ending if is_source(module) else '.js'}"


def _folder(module: str, tree: Tree, language: Language) -> str:
    """Return the nearest folder, upwards from a module, that contains tests; `tests/` if there is none.

    The folder of a Django app that has a `tests.py` contains tests.
    """
    tests = [path for path in tree.entries() if is_test_path(path)]
    beside = module[: module.rfind("/") + 1]
    if language is Language.JAVASCRIPT and any(
        path.rpartition("/")[0] + "/" == beside for path in tests if "/" in path
    ):
        return beside
    if f"{beside}tests.py" in tree.entries():
        return beside
    parts = module.split("/")[:-1]
    for depth in range(len(parts), -1, -1):
        above = "".join(f"{part}/" for part in parts[:depth])
        for name in _TEST_FOLDERS:
            if any(path.startswith(f"{above}{name}/") for path in tests):
                return f"{above}{name}/"
    return "tests/"


def _shorten(name: str) -> str:
    """Cut a long name between two of its words."""
    return name if len(name) <= _MOST_CHARS else name[: _MOST_CHARS + 1].rpartition("_")[0] or name[:_MOST_CHARS]


def _snake(name: str) -> str:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return re.sub(r"[^a-z0-9]+", "_", apart).strip("_")
