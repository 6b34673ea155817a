"""Finds the packages of a tree that the test libraries have as well, as where `packaging` itself is tested.

Without that its tests would meet the runner's copy: a right answer could not pass, and a wrong one could. So a run has
the tree's copy of a package that pytest does not need any more once it has started. What the runner consists of
(`SEALED_NAMES`) it cannot have twice: where a tree provides such a package, nothing is judged.

A folder without `__init__.py` hides no package of that name and is none here, such as one of packagers' scripts. Nor is
a package beside `src` with modules in it: tests import what lies there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from nightshift.verdict.languages.python import package_layout
from nightshift.verdict.languages.python.package_layout import CONFIG_FILES, OwnPackage
from nightshift.verdict.languages.test_config import LIBRARY_NAMES, SEALED_NAMES

NAMES = LIBRARY_NAMES | {"tomli", "exceptiongroup", "typing_extensions"}
"""Those that a test library may bring, the last ones with older Pythons."""
_Read = Callable[[str], str | None]
_IN_SRC = re.compile(r"src/[^/]+(?:/__init__)?\.py")


def found_in(paths: Collection[str], read: _Read, more: Iterable[str] = ()) -> Mapping[str, str]:
    """Such packages: name to the folder that it is imported from, with `.` for the root.

    Args:
        paths: of all files of the tree.
        read: the text of a file, or None.
        more: folders that modules are imported from besides the root, `src` and those that the package declares.
    """
    has_config = any(path in paths for path in CONFIG_FILES)
    package = package_layout.read(read, paths) if has_config else OwnPackage()
    names = NAMES | ({re.sub(r"[-.]+", "_", package.name).lower()} if package.name else set())

    def inside(prefix: str) -> list[str]:
        bases = ((name, f"{prefix}{name}") for name in sorted(names))
        return [name for name, base in bases if f"{base}.py" in paths or f"{base}/__init__.py" in paths]

    found = dict.fromkeys(inside(""), ".")
    if found and any(map(_IN_SRC.fullmatch, paths)):
        found = {}
    for folder in ("src", *more, *package.roots):
        if (clean := folder.strip("/")) not in {"", "."}:
            found = {**dict.fromkeys(inside(f"{clean}/"), clean), **found}
    return found


def why_not_judged(own: Mapping[str, str]) -> str:
    """What the owner is told where the runner consists of some of these packages; empty where of none."""
    if not (sealed := sorted(own.keys() & SEALED_NAMES)):
        return ""
    names = " and ".join(f"`{name}` ({own[name]}/{name})".replace("(./", "(") for name in sealed)
    return (
        f"Nothing is judged here: this repository provides {names}, and the runner of tests consists of a package of "
        "that name. The tests would meet the runner's copy instead of the change. A task that does not leave it to "
        "pytest, but has a test_command such as `python -m unittest`, is judged by that command's exit status."
    )
