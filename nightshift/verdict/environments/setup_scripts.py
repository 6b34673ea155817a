"""Finds a repository's setup script, which may be in a file that other coding agents use as well.

The script is `.nightshift/setup.sh`, `.openhands/setup.sh` or the `install` of `.cursor/environment.json`; if a commit
has several, the first of them runs. The steps of `.github/workflows/copilot-setup-steps.yml` never run, because they
depend on third-party actions. Their `run:` lines are offered as a draft of a script.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.distributions import is_declaration
from nightshift.verdict.environments.locks import LOCKS, requirement_files
from nightshift.verdict.environments.npm_locks import LOCKS as NPM_LOCKS
from nightshift.verdict.languages.python.package_layout import CONFIG_FILES

SCRIPTS = (".nightshift/setup.sh", ".openhands/setup.sh")
CURSOR = ".cursor/environment.json"
COPILOT = tuple(f".github/workflows/copilot-setup-steps.{ending}" for ending in ("yml", "yaml"))
_JOB = "copilot-setup-steps"
MOST_CHARS, MOST_NAMED = 20_000, 40
_WORD = re.compile(r"[A-Za-z0-9_.@+/-]+")
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_LISTS = frozenset({*LOCKS, *NPM_LOCKS, *CONFIG_FILES, "package.json", "go.mod", "go.sum", ".python-version"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScript:
    """A setup script of a commit.

    Attributes:
        path: the file that contains it.
        folder: the folder that it runs in, with a trailing slash; empty for the root.
        text: the text that runs.
        named: other files of the repository that it names, path to text, without those that list packages.
        lists: the files in the folder that list packages, path to text.
    """

    path: str
    folder: str
    text: str
    named: Mapping[str, str]
    lists: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest that the owner agrees to: SHA-256 of the script's text and of the files that the script names."""
        return _digest({"": self.text, **self.named})

    @property
    def made_of(self) -> str:
        """A digest of the further inputs that decide the outcome: the files that list packages, and the folder."""
        return _digest({"": self.folder, **self.lists})


def find(files: DeclaredFiles) -> FoundScript | None:
    """Return the script of a commit, from the project's own folder or else from the root; None if there is none."""
    for folder in dict.fromkeys((files.folder, "")):
        for path, text in _scripts(files, folder):
            if text.strip() and len(text) <= MOST_CHARS:
                return FoundScript(
                    path=path,
                    folder=folder,
                    text=text,
                    named=_list_named_files(files, folder, text),
                    lists=_lists(files, folder),
                )
    return None


def _scripts(files: DeclaredFiles, folder: str) -> Iterator[tuple[str, str]]:
    for name in SCRIPTS:
        if text := files.text(f"{folder}{name}"):
            yield f"{folder}{name}", text
    if text := files.text(f"{folder}{CURSOR}"):
        yield f"{folder}{CURSOR}", _install(text)


def _install(text: str) -> str:
    """Return the `install` command in the text of Cursor's file; empty if there is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    command = content.get("install") if isinstance(content, dict) else None
    return command if isinstance(command, str) else ""


def _list_named_files(files: DeclaredFiles, folder: str, text: str) -> dict[str, str]:
    """Return the files that a script names by path, plus the Makefile if it calls make."""
    words = {word.removeprefix("./").rstrip("/") for word in _WORD.findall(text)}
    paths = {f"{folder}{word}" for word in words} | (
        {f"{folder}{name}" for name in _MAKE} if "make" in words else set()
    )
    named = sorted(path for path in paths if path in files.paths and not _lists_packages(path))
    texts = {path: files.text(path) for path in named[:MOST_NAMED]}
    return {path: content for path, content in texts.items() if content is not None}


def _lists_packages(path: str) -> bool:
    """Check whether a file lists packages. setup.py does too, but is excluded because it is a program."""
    name = path.rpartition("/")[2]
    return name != "setup.py" and (name in _LISTS or is_declaration(path))


def _lists(files: DeclaredFiles, folder: str) -> dict[str, str]:
    names: Collection[str] = [*(f"{folder}{name}" for name in _LISTS), *requirement_files(files.paths, folder)]
    texts = {path: files.text(path) for path in sorted(set(names)) if path in files.paths}
    return {path: text for path, text in texts.items() if text is not None}


def _digest(texts: Mapping[str, str]) -> str:
    words = [f"{path}\0{text}" for path, text in sorted(texts.items())]
    return hashlib.sha256("\0\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def draft(files: DeclaredFiles) -> str:
    """Draft a script from the `run:` lines of Copilot's steps, for the owner to read.

    The draft is empty if there are no such lines, or if a script exists. Third-party actions in the steps are named in
    comments, because they cannot run.
    """
    text = next((text for path in COPILOT if (text := files.text(path))), None)
    if not text or find(files):
        return ""
    lines = ["#!/bin/bash", "set -e"]
    for step in _steps(text):
        if isinstance(run := step.get("run"), str):
            where = step.get("working-directory")
            body = run.rstrip().splitlines()
            lines += [f"(cd {shlex.quote(where)} &&", *body, ")"] if isinstance(where, str) else body
        elif isinstance(step.get("uses"), str):
            lines.append(f"# left out: {' '.join(step['uses'].split())}")
    return "\n".join(lines) + "\n" if any(not line.startswith("#") for line in lines[2:]) else ""


def _steps(text: str) -> list[dict[str, Any]]:
    import yaml  # noqa: PLC0415 (few repositories have such a file)

    try:
        workflow: Any = yaml.safe_load(text)
        steps = workflow["jobs"][_JOB]["steps"]
    except (yaml.YAMLError, KeyError, TypeError, RecursionError):
        return []
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
