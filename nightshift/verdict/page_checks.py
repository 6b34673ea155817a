"""Checks the links, commands and names on a page against the tree, without running anything.

Each finding needs evidence in the tree: the folder or module that should contain the target, or a file with nearly the
same name. Without such evidence there is no finding, because the page may mean a name of another library, or a file
that the reader will create.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from urllib.parse import unquote

from nightshift.core.code.documents import is_markdown
from nightshift.core.code.parsing import parse_quietly
from nightshift.verdict.pages import Page, Piece, read, simplify_anchor

_ALIKE = 0.85
_ROOTS = ("", "src/", "lib/")
_OTHER_SITE = re.compile(r"[a-z][a-z0-9+.-]*:|//|[^#?]*[{}<>$*]", re.IGNORECASE)
_BARE_FILES = frozenset({"LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "Makefile", "Dockerfile"})
_SHELL = frozenset({"sh", "bash", "shell", "console", "zsh", "shell-session"})
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\([^()]*\))?")
_FILE = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.-]+)+\.\w+")
_ENDINGS = re.compile(
    r"pyi?|md|rst|txt|jsonl?|toml|ya?ml|ini|cfg|csv|tsv|html|css|[mc]?[jt]s|[jt]sx|db|sqlite3?|log|sh|lock|env|xml|sql"
    r"|pdf|png|svg|jpg|gif|zip|gz|tar|conf|service|com|org|net|io|dev|example|local|exe|bat",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(r"(readme|index|__init__|__main__|main|setup|conftest|license)\b", re.IGNORECASE)
_MADE_UP = re.compile(r"path/to|your|example|my_|foo|bar\b", re.IGNORECASE)
_SCRIPT = re.compile(r"<(?:script|iframe|object|embed)\b|<[^>]*\son\w+\s*=|javascript:", re.IGNORECASE)
_SCRIPT_LINK = re.compile(r"\s*(?:java|vb)script:", re.IGNORECASE)
_BUILDS = re.compile(r"\s*\.\.\s+(?:program-output|command-output|exec(?:_code)?|runblock|jupyter-execute)::")
_INCLUDES = re.compile(r"\s*(?:\.\.\s+(?:literal)?include::\s*|include::|:file:\s*)(?P<path>[^\s\[]+)")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*|py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault on one line of a page.

    `message` describes the fault and, where possible, the correction.
    """

    path: str
    line: int
    message: str


class Files:
    """The files that a page is checked against.

    Args:
        paths: the paths of all files.
        text: returns the text of a file, None if the file has no text.
    """

    def __init__(self, paths: Collection[str], text: Callable[[str], str | None]) -> None:
        self.paths, self.text = frozenset(paths), text

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders that contain files; the root is the empty string."""
        names = {""}
        for path in self.paths:
            while path := path.rpartition("/")[0]:
                names.add(path)
        return frozenset(names)

    def __contains__(self, path: str) -> bool:
        return path in self.paths or path in self.folders

    def like(self, path: str) -> str:
        """Return the existing path that a misspelt or moved path may mean; empty if there is none."""
        name = path.rpartition("/")[2]
        moved = sorted(each for each in self.paths if each.rpartition("/")[2] == name and not _ANYWHERE.match(name))
        return next(iter(moved or get_close_matches(path, sorted(self.paths), n=1, cutoff=_ALIKE)), "")


def findings(path: str, text: str, files: Files) -> Iterator[Finding]:
    """List all faults of a page."""
    page = read(text) if is_markdown(path) else Page()
    checks = (_links(path, page, files), _commands(path, page, text, files), _spans(path, page, files))
    for check in (*checks, _find_active(path, page, text, files)):
        yield from (Finding(path=path, line=line, message=message) for line, message in check)


_Wrong = Iterator[tuple[int, str]]


def _find_active(path: str, page: Page, text: str, files: Files) -> _Wrong:
    """List lines that run code when the page is shown or built, or that include a file outside of the repository."""
    for piece in page.html:
        if _SCRIPT.search(piece.text):
            yield piece.line, "this HTML runs code when the page is shown"
    yield from ((link.line, "this link runs code") for link in page.links if _SCRIPT_LINK.match(link.text))
    for number, line in enumerate(() if is_markdown(path) else text.split("\n"), start=1):
        if _BUILDS.match(line):
            yield number, f"`{line.strip()}` runs a program when the page is built"
        elif (included := _INCLUDES.match(line)) and _leads_out(path, included["path"], files):
            yield number, f"`{line.strip()}` reads a file outside of the repository"


def _leads_out(path: str, target: str, files: Files) -> bool:
    """Check whether an included file is outside of the repository.

    A target with a leading slash may be relative to the root of the site, so it only has to match the end of some path.
    """
    if target.startswith("/"):
        return not any(f"/{each}".endswith(target) for each in files.paths)
    return target.startswith("~") or posixpath.normpath(posixpath.join(posixpath.dirname(path), target)).startswith(
        ".."
    )


def _links(path: str, page: Page, files: Files) -> _Wrong:
    for link in page.links:
        written = unquote(link.text)
        if _OTHER_SITE.match(written):
            continue
        target, _, anchor = written.partition("#")
        target = target.partition("?")[0]
        location = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
        if target.startswith("/") or location.startswith("../"):
            continue  # The link leaves the repository, perhaps to another page of a site that contains it.
        location = "" if location == "." else location
        if location not in files:
            if _names_a_file(target) and f"{location}.md" not in files:
                more = f"; {other} does" if (other := files.like(location)) else ""
                yield link.line, f"the link to `{written}` is broken: {location} does not exist{more}"
        elif anchor and is_markdown(location):
            anchors = page.anchors if location == path else read(files.text(location) or "").anchors
            if not _has(anchors, simplify_anchor(anchor)):
                yield link.line, f"the link to `{written}` names a heading that {location} does not have"


def _names_a_file(target: str) -> bool:
    name = target.rstrip("/").rpartition("/")[2]
    return target.endswith("/") or "." in name.lstrip(".") or name in _BARE_FILES


def _has(anchors: frozenset[str], anchor: str) -> bool:
    """Check whether a page has an anchor.

    Sites add numbers to the anchors of headings with equal text, and generate anchors for lines (`L10`). Both count as
    existing.
    """
    return not anchor or anchor in anchors or anchor.rstrip("0123456789") in {*anchors, "l", "user-content"}


def _commands(path: str, page: Page, text: str, files: Files) -> _Wrong:
    for block in page.blocks:
        if block.info not in _SHELL:
            continue
        around = text.replace(block.text, "")
        for line, folder, words in _lines_of(path, block, files):
            if _PYTHON.fullmatch(words[0]) and len(words) > 1 and (wrong := _python(words[1:], folder, around, files)):
                yield line, wrong


def _lines_of(path: str, block: Piece, files: Files) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
    """List the commands of a shell block, up to a line that cannot be parsed or a `cd` to an unknown folder.

    After a `git clone`, a `cd` to an unknown folder is ignored.

    Returns:
        For each command its line number, the folders in which it may run, and the command with its arguments.
    """
    folders, cloned = tuple(dict.fromkeys(("", posixpath.dirname(path)))), False
    for at, line in enumerate(block.text.split("\n"), block.line + 1):
        for part in re.split(r"&&|;|\|", line.strip().removeprefix("$ ")):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                return
            cloned = cloned or words[:2] == ["git", "clone"]
            if words[:1] == ["cd"]:
                target = posixpath.normpath(words[1]) if len(words) == 2 else ""
                existing = tuple(
                    each for each in (posixpath.join(folder, target) for folder in folders) if each in files.folders
                )
                if not existing and not cloned:
                    return
                folders = existing or folders
            elif words:
                yield at, folders, words


def _python(words: list[str], folders: tuple[str, ...], around: str, files: Files) -> str:
    """Describe the missing script or module of a Python command; empty if there is no fault.

    Args:
        words: the arguments of Python.
        folders: the folders in which the command may run.
        around: the text of the page without the command's block. A script that it names may be created by the reader.
        files: the files of the tree.
    """
    if words[0] == "-m" and len(words) > 1:
        return _module(words[1], folders, files)
    script = words[0]
    if not script.endswith(".py") or script.startswith(("-", "/", "~")) or _MADE_UP.search(script) or script in around:
        return ""
    places = [posixpath.normpath(posixpath.join(folder, script)) for folder in folders]
    if any(location in files or location.startswith("..") for location in places) or re.search(r"[<>{}$*]", script):
        return ""
    more = f"; {other} does" if (other := files.like(places[0])) else ""
    return f"the script `{script}` does not exist{more}"


def _module(name: str, folders: tuple[str, ...], files: Files) -> str:
    top, *rest = name.split(".")
    bases = [posixpath.join(folder, root) for folder in folders for root in _ROOTS]
    for base in bases:
        package = posixpath.join(base, top)
        if not rest or package not in files.folders:
            continue
        stem = posixpath.join(package, *rest)
        if f"{stem}.py" not in files and stem not in files.folders:
            return f"`python -m {name}` names a module that {package}/ does not have"
        return ""
    return ""


def _spans(path: str, page: Page, files: Files) -> _Wrong:
    for span in page.spans:
        if match := _DOTTED.fullmatch(span.text):
            if wrong := _name(path, match[1], files):
                yield span.line, wrong
        elif _FILE.fullmatch(span.text) and not _MADE_UP.search(span.text):
            location = posixpath.normpath(span.text)
            here = posixpath.normpath(posixpath.join(posixpath.dirname(path), location))
            exists = location in files or here in files or any(each.endswith(f"/{location}") for each in files.paths)
            if not exists and (other := files.like(location)):
                yield span.line, f"the file `{span.text}` does not exist; {other} does"


def _name(path: str, dotted: str, files: Files) -> str:
    """Describe the fault of a dotted name whose module is in the tree and does not have the name.

    The text is empty if the module has the name, or if the name may belong to another library.
    """
    parts = dotted.split(".")
    if _ENDINGS.fullmatch(parts[-1]):
        return ""
    for depth in range(len(parts) - 1, 0, -1):
        for root in dict.fromkeys((*_ROOTS, f"{posixpath.dirname(path)}/".lstrip("/"))):
            stem = root + "/".join(parts[:depth])
            module = next((each for each in (f"{stem}.py", f"{stem}/__init__.py") if each in files.paths), None)
            if module is None:
                continue
            names = _list_defined(files.text(module) or "")
            inside = module.endswith("/__init__.py") and f"{stem}/{parts[depth]}" in files
            if names is None or parts[depth] in names or inside or parts[depth].startswith("__"):
                return ""
            close = get_close_matches(parts[depth], sorted(names), n=1, cutoff=_ALIKE)
            if depth == 1 and not close:
                return ""  # The first part may be a variable that is named like the module.
            more = f"; `{close[0]}` is" if close else ""
            return f"`{parts[depth]}` is not in {module}{more}"
    return ""


def _list_defined(text: str) -> frozenset[str] | None:
    """Return every name that a module binds or uses anywhere.

    The result is None if the module is not valid Python, or may bind further names at run time.
    """
    tree = parse_quietly(text)
    if tree is None:
        return None
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name | ast.Attribute):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return None if names & {"*", "__getattr__", "globals", "setattr"} else frozenset(names)
