"""Reads the variables that a repository sets for its tests: in its environment file, its tox.ini and its Makefile.

The variables apply to every run, however the run starts. Values that tox or make would have to expand are left out.
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
    """Return the variables, name to value; the environment file takes precedence.

    Variables that control interpreters or runners are left out.

    Args:
        files: the files of the base; a change cannot set variables.
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
    except SandboxError:  # The error is reported when the services are read.
        return {}
