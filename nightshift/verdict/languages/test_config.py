"""Guards the test configuration: a change must not modify files that decide how tests run.

Such files come from the task or the base. A file that is dropped from a change is listed with its reason, shown to the
model, and stored in the evidence. So it is not committed as if it had been judged. Settings of the runner that the task
names, or whose new text the owner granted, are staged; the owner is asked about them (`findings.assets`).
"""

from __future__ import annotations

import configparser
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightshift.core.code.parsing import is_test_file
from nightshift.core.code.paths import git_folder, is_test_path, path_fault
from nightshift.core.tasks.task import Change, Files
from nightshift.core.text.encoding import encode
from nightshift.verdict.languages.python.pytest_settings import CONFIG_FILES, section

LIBRARY_NAMES = frozenset({
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "pygments", "hypothesis", "sortedcontainers",
    "nightshift_inside",
})  # fmt: skip
"""Top-level module names of the test libraries. A new module with one of these names would hide the library."""
MAX_FILE_BYTES = 2 << 20
MAX_TOTAL_BYTES = 16 << 20

_CONFIGURING = frozenset({"conftest.py", "sitecustomize.py", "usercustomize.py", ".npmrc", "node.config.json"})
_OWN_CONFIG = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
_ASKABLE = frozenset({"conftest.py", *_OWN_CONFIG, *CONFIG_FILES})
"""Names of files with settings of the runner. The others start before the recorder does, and are never staged."""
_METADATA = re.compile(r"\.(dist-info|egg-info|egg-link)$")
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """A change divided into two parts.

    Attributes:
        staged: the files that the run gets.
        dropped: the other files, path to reason.
    """

    staged: Change
    dropped: Mapping[str, str]


def sift(
    change: Change,
    *,
    base: Callable[[str], str | None],
    given: Files,
    present: Collection[str] = (),
    allows: Callable[[str, str | None], bool] = lambda _path, _text: False,
) -> Sifted:
    """Divide a change into the files that are staged and the files that are dropped.

    Args:
        change: path to new text, None for a removed file.
        base: returns the text of a file before the change, None if the file does not exist.
        given: the task's tests. A change may contain these files with the same text.
        present: the paths of all files before the change.
        allows: decides whether a new text of a file with settings of the runner is staged.
    """
    folders = frozenset(_test_folders(given))
    dropped, staged, total = dict[str, str](), dict[str, str | None](), 0
    for path, text in change.items():
        size = len(encode(text or ""))
        total += size
        if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
            dropped[path] = f"too large: {MAX_FILE_BYTES >> 20} MB a file, {MAX_TOTAL_BYTES >> 20} MB together"
        elif (reason := _fault(path, text, base, given, folders, present)) and not (
            path.rpartition("/")[2] in _ASKABLE and not path_fault(path) and path not in given and allows(path, text)
        ):
            dropped[path] = reason
        elif path not in given:
            staged[path] = text
    _drop_repositories(staged, dropped, {*present, *given} - {path for path, text in staged.items() if text is None})
    return Sifted(staged=staged, dropped=dropped)


def _drop_repositories(staged: dict[str, str | None], dropped: dict[str, str], others: Collection[str]) -> None:
    """Move files from `staged` to `dropped` if git would treat one of their folders as a repository."""
    written = sorted(path for path, text in staged.items() if text is not None)
    while (folder := git_folder(written, [*others, *written])) is not None:
        inside = [path for path in written if not folder or path.startswith(f"{folder}/")]
        for path in inside:
            dropped[path] = f"git would take the folder {folder or '.'!r} for a repository"
            del staged[path]
        written = [path for path in written if path in staged]


def _fault(
    path: str,
    text: str | None,
    base: Callable[[str], str | None],
    given: Files,
    folders: Collection[str],
    present: Collection[str],
) -> str | None:
    if why := path_fault(path):
        return why
    if path in given:
        return None if given[path] == text else "is one of the task's tests"
    if (before := base(path)) == text:
        return None
    is_test = is_test_path(path) if before is None else is_test_file(path, before, text or "")
    if is_test and not path.endswith("conftest.py"):
        return "tests come from the task or the repository"
    if any(path.startswith(folder) for folder in folders):
        return "lies in the folder of the given tests"
    return configures_tests(path, text, base) or _shadows(path, base, present)


def configures_tests(path: str, text: str | None, base: Callable[[str], str | None]) -> str | None:
    """Return the reason why a change must not contain a file; None if it may contain the file.

    The reason is that the file affects how tests run.
    """
    name = path.rpartition("/")[2]
    if name in _CONFIGURING or name in _OWN_CONFIG or name.endswith((".pth", ".pyc")):
        return "steers how tests are run"
    if any(
        _METADATA.search(part) or part in {".venv", "venv", "__pycache__", "node_modules"} for part in path.split("/")
    ):
        return "belongs to an installation, not to the sources"
    if name in CONFIG_FILES:
        before = base(path)
        same = (section(name, text) if text else None) == (section(name, before) if before else None)
        return None if same else "changes pytest's settings"
    return None


def list_settings(change: Change, base: Callable[[str], str | None]) -> dict[str, str]:
    """Map each file of a change that differs in settings of the test runner, or of coverage, to the reason."""
    reasons = dict[str, str]()
    for path, text in change.items():
        before, name = base(path), path.rpartition("/")[2]
        if before == text:
            continue
        if reason := configures_tests(path, text, base):
            reasons[path] = reason
        elif _read_coverage(name, before) != _read_coverage(name, text):
            reasons[path] = "changes the settings of coverage"
    return reasons


def _read_coverage(name: str, text: str | None) -> Any:
    """Return the settings of coverage in a file, or the whole text of one that cannot be parsed."""
    if not text or not (name == ".coveragerc" or name in CONFIG_FILES):
        return None
    try:
        if name.endswith(".toml"):
            return tomllib.loads(text).get("tool", {}).get("coverage")
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError):
        return text
    wanted = (each for each in parser.sections() if name == ".coveragerc" or each.startswith("coverage:"))
    return {each: dict(parser.items(each)) for each in wanted} or None


def _shadows(path: str, base: Callable[[str], str | None], present: Collection[str]) -> str | None:
    """Return the reason why a new module would hide a standard module or a test library; None if it would not."""
    root = "src/" if path.startswith("src/") else ""
    parts = path.removeprefix("src/").split("/")
    name = parts[0].partition(".")[0]
    if not path.endswith((".py", ".so", ".pyi")) or base(path) is not None:
        return None
    if len(parts) > 1 and (len(parts) > 2 or not parts[1].startswith("__init__.")):
        return None  # a folder without `__init__.py` hides nothing
    if name in LIBRARY_NAMES and not provides(name, root, present):
        return f"has the name of a test library ({name})"
    if name in sys.stdlib_module_names:
        return f"has the name of a standard module ({name}); choose another one"
    return None


def provides(name: str, root: str, present: Collection[str]) -> bool:
    """Check whether a tree has a package or module with this name in a folder; `root` ends with a slash or is empty."""
    return f"{root}{name}/__init__.py" in present or f"{root}{name}.py" in present


def _test_folders(given: Files) -> Iterator[str]:
    """For each of the task's tests, yield the outermost folder named `test`, `tests` or `testing` in its path."""
    for path in given:
        folders = path.split("/")[:-1]
        if is_test_path(path):
            for depth, name in enumerate(folders, 1):
                if name in _TEST_FOLDERS:
                    yield "/".join(folders[:depth]) + "/"
                    break
