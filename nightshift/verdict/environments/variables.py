"""Reads the variables that a repository sets for its tests: in its environment file, its tox.ini and its Makefile.

They hold in every run, however that starts. Values that are put together by tox or make are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nightshift.core.errors import SandboxError
from nightshift.verdict.environments import environment_file
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.languages.repository_commands import readers

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_EXPORT = re.compile(r"^export[ \t]+(\w+)[ \t]*[:?]{0,2}=[ \t]*([^\n#]*)", re.MULTILINE)


def read_variables(files: DeclaredFiles) -> dict[str, str]:
    """Name to value, but for those that steer interpreters or runners; the environment file goes before the others.

    Args:
        files: those of the base, which a change does not set anything by.
    """
    pairs = [*_of_makefile(files), *_of_tox(files)]
    usable = {name: value for name, value in pairs if name.isidentifier() and not re.search(r"[${\0]", value)}
    every = {**usable, **_of_file(files)}
    return {name: value for name, value in every.items() if not environment_file.RESERVED.fullmatch(name)}


def _of_makefile(files: DeclaredFiles) -> Iterator[tuple[str, str]]:
    text = next(filter(None, (files.text(f"{files.folder}{name}") for name in _MAKEFILES)), "")
    yield from ((name, value.strip()) for name, value in _EXPORT.findall(text))


def _of_tox(files: DeclaredFiles) -> Iterator[tuple[str, str]]:
    parser = readers.ini(files.text(f"{files.folder}tox.ini") or "")
    settings = parser["testenv"] if parser and parser.has_section("testenv") else {}
    for line in (settings.get("set_env") or settings.get("setenv") or "").splitlines():
        name, is_set, value = line.partition("=")
        if is_set:
            yield name.strip(), value.strip()


def _of_file(files: DeclaredFiles) -> dict[str, str]:
    path = environment_file.find(files)
    try:
        return environment_file.read((files.text(path) if path else None) or "").env
    except SandboxError:  # told where its services are read
        return {}
