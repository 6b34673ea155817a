"""Chooses the language of a task if the owner does not set it: from the task itself, or else from its repository.

Also recognises projects of Django, whose tests run with `manage.py test`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath

from nightshift.core.code import golang, javascript
from nightshift.core.code.listing import folders_above
from nightshift.core.tasks.task import Language, TaskSpec

_MARKERS = {
    **dict.fromkeys(("package.json", "tsconfig.json", "deno.json"), Language.JAVASCRIPT),
    **dict.fromkeys(("go.mod", "go.work"), Language.GO),
    **dict.fromkeys(("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"), Language.PYTHON),
}
"""Files that identify the language of a folder."""
_PROGRAMS = {
    **dict.fromkeys(("node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "jest", "vitest"), Language.JAVASCRIPT),
    "go": Language.GO,
    **dict.fromkeys(("python", "python3", "pytest", "tox", "nox", "uv", "poetry"), Language.PYTHON),
}
_WORDS = (
    (re.compile(r"\b(?:typescript|javascript|node\.?js|vitest|express\.js)\b", re.IGNORECASE), Language.JAVASCRIPT),
    (re.compile(r"\bgolang\b|\b(?:in|with) Go\b|\bGo (?:module|package|program|function)\b"), Language.GO),
    (re.compile(r"\b(?:python|pytest|django|flask|fastapi)\b", re.IGNORECASE), Language.PYTHON),
)
_PATH = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*/?")
_FOREIGN = frozenset({"node_modules", "vendor", "third_party", "dist", "build", "docs", "site-packages"})
"""Folders whose code is third-party or generated."""
_OWN_SHARE = 4
"""Reciprocal of the share of source files that must be in a marker file's language, so that the marker decides."""


def language_of(path: str) -> Language | None:
    """Return the language of a source file by its name; None for any other file."""
    if javascript.is_source(path):
        return Language.JAVASCRIPT
    if golang.is_source(path):
        return Language.GO
    return Language.PYTHON if path.endswith(".py") else None


def _read_language(spec: TaskSpec) -> Language | None:
    """Return the language that a task's tests, files, command or description shows, in this order.

    Returns None if none does.
    """
    if spec.cases or spec.oracle or spec.packages:
        return Language.PYTHON
    named = list(_list_paths(spec.description))
    return (
        _most(map(_language_by_name, spec.tests))
        or _most(map(_language_by_name, spec.files))
        or _most(_PROGRAMS.get(PurePosixPath(word).name) for word in spec.test_command[:1])
        or _most(map(_language_by_name, named))
        or _most(language for pattern, language in _WORDS if pattern.search(spec.description))
    )


def choose_language(spec: TaskSpec, list_files: Callable[[], Collection[str]] = tuple) -> Language:
    """Choose the language of a task.

    The task itself decides if it shows a language, or else the folders that its description names, or else all files of
    the repository.

    Args:
        spec: The task.
        list_files: Lists the files of the repository, relative to its root; called only if the task itself shows no
            language.
    """
    if language := _read_language(spec):
        return language
    files = list_files()
    folders = {folder for path in files for folder in folders_above(path)}
    named = [f"{path.rstrip('/')}/" for path in _list_paths(spec.description) if "/" in path]
    languages = (_language_within(folder, files) for folder in (*named, "") if folder in folders)
    return next(filter(None, languages), Language.PYTHON)


def _language_within(folder: str, files: Collection[str]) -> Language | None:
    """Return the language of a folder. The folder's name ends with a slash; the root is the empty text."""
    within = [path.removeprefix(folder) for path in files if path.startswith(folder)]
    counts = Counter(
        language for path in within if (language := language_of(path)) and not _FOREIGN.intersection(path.split("/"))
    )
    markers = {language for path in within if (language := _MARKERS.get(path))}
    if len(markers) == 1 and counts[only := next(iter(markers))] * _OWN_SHARE >= counts.total():
        return only
    return _most(counts.elements())


def _language_by_name(path: str) -> Language | None:
    return language_of(path) or _MARKERS.get(PurePosixPath(path).name)


def _list_paths(text: str) -> Iterator[str]:
    """Yield the words of a text that may be paths."""
    return (match[0].rstrip(".") for match in _PATH.finditer(text))


def _most(languages: Iterable[Language | None]) -> Language | None:
    """Return the most frequent language, or the first of several equally frequent ones.

    Returns None if there is no language.
    """
    ranked = Counter(language for language in languages if language).most_common(1)
    return ranked[0][0] if ranked else None


def is_django(text_of: Callable[[str], str | None]) -> bool:
    """Check whether the root has the `manage.py` of a project; `text_of` returns a file's text, or None."""
    return "DJANGO_SETTINGS_MODULE" in (text_of("manage.py") or "")
