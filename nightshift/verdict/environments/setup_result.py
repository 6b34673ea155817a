"""Makes of what a setup script left something that may be shown to judged runs; the script itself is over by then.

The rules are those for wheels: nothing stays that would run by itself in a run, hide the standard library, the test
libraries or the repository's own modules, lead out of the folder, or stand in the place of a program of the system's.
"""

from __future__ import annotations

import csv
import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.isolation import WORK
from nightshift.verdict.environments import own_metadata
from nightshift.verdict.environments.layers import tame
from nightshift.verdict.environments.npm import NOT_THEIRS
from nightshift.verdict.environments.npm_locks import FOLDER
from nightshift.verdict.environments.python import entry_points_in, tame_more
from nightshift.verdict.environments.setup_run import ENV
from nightshift.verdict.environments.store import remove

MOST_LISTED = 500
_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)-([^-]+)\.dist-info")
_NOT_KEPT = re.compile(r"(activate.*|deactivate.*|pip[\d.]*|uv|uvx|wheel|easy_install.*)", re.IGNORECASE)
_OF_PYTHON = re.compile(rb"#!\s*(/usr/bin/env\s+python|\S*/python)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """The files that stayed. `scripts` are console scripts with what they call, `plugins` are pytest's."""

    packages: dict[str, str]
    modules: list[str]
    node_modules: list[str]
    scripts: dict[str, str]
    plugins: list[str]
    remarks: tuple[str, ...]


def clean(env: Path, site: str, node: Path, own: Collection[str]) -> Cleaned:
    """Clean both folders in place.

    Args:
        env: what is shown as `/env`.
        site: where packages of Python lie below it.
        node: a `node_modules`, if there is one.
        own: modules that the repository has itself at the top level.
    """
    place, remarks = env / site, list[str]()
    _without_special_files(env)
    _without_links_out(env)
    place.mkdir(parents=True, exist_ok=True)
    _without_installer(place)
    if gone := list(_without_own(place, env)):
        remarks.append(f"{', '.join(gone)} is the repository's own package; runs import its files instead")
    before = {path.name for path in place.iterdir()}
    tame(place)
    tame_more(place)
    if lost := sorted(before - {path.name for path in place.iterdir()} - {"__pycache__", "bin"}):
        remarks.append(f"taken out of what the script left: {', '.join(lost[:20])}")
    for path in list(place.iterdir()):
        if (name := path.name.partition(".")[0]) in own and not path.name.endswith("-info"):
            remove(path)
            remarks.append(f"{name} would hide the repository's own modules; it is taken out")
    scripts, plugins = entry_points_in(place)
    _programs(env / "bin", scripts)
    (env / "pyvenv.cfg").unlink(missing_ok=True)
    packages, node_names = dict(_distributions(place)), dict[str, str]()
    if node.is_dir() and not node.is_symlink():
        _without_special_files(node)
        _node_links(node)
        node_names = dict(_node_packages(node))
    modules = {path.name.partition(".")[0] for path in place.iterdir() if not path.name.endswith("-info")}
    return Cleaned(
        packages=dict(list({**packages, **node_names}.items())[:MOST_LISTED]),
        modules=sorted(modules),
        node_modules=sorted(node_names),
        scripts=scripts,
        plugins=plugins,
        remarks=tuple(remarks),
    )


def _entries(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        yield from (Path(root, name) for name in (*folders, *files))


def _without_special_files(folder: Path) -> None:
    """Take out pipes, sockets and devices; modes are put right where the folder is kept."""
    for path in _entries(folder):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
            path.unlink()


def _without_links_out(env: Path) -> None:
    """Make links within the folder relative, and take out those that lead elsewhere or nowhere."""
    root = env.resolve()
    links = [path for path in _entries(env) if path.is_symlink()]
    for path in links:
        target = str(path.readlink())
        if target == ENV or target.startswith(f"{ENV}/"):
            inside = env / target.removeprefix(ENV).lstrip("/")
            path.unlink()
            path.symlink_to(os.path.relpath(inside, path.parent))
    for path in links:
        try:
            there = path.resolve(strict=True)
        except (OSError, RuntimeError):  # it leads nowhere, or to itself
            there = Path("/")
        if not there.is_relative_to(root) or path.readlink().is_absolute():
            path.unlink()


def _without_installer(site: Path) -> None:
    """The environment began with a pip of ours, of which judged runs have no need."""
    for name in ("pip", *(path.name for path in site.glob("pip-*.dist-info"))):
        remove(site / name)


def _without_own(site: Path, env: Path) -> Iterator[str]:
    """Take out what was installed from the working folder, for editing or as a copy, which would soon be old."""
    for info in sorted(site.glob("*.dist-info")):
        try:
            url = str(json.loads((info / "direct_url.json").read_text(encoding="utf-8"))["url"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if not url.startswith(f"file://{WORK}"):
            continue
        yield info.name.removesuffix(".dist-info")
        for path in _recorded(info, site):
            if path.is_relative_to(env) and (path.is_file() or path.is_symlink()):
                path.unlink()
        remove(info)


def _recorded(info: Path, site: Path) -> Iterator[Path]:
    try:
        rows = list(csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError, csv.Error):
        return
    yield from (Path(os.path.normpath(site / row[0])) for row in rows if row and "\0" not in row[0])


def _programs(folder: Path, scripts: dict[str, str]) -> None:
    """Write console scripts anew; of others those stay that need no Python and have no name of the system's."""
    folder.mkdir(exist_ok=True)
    for path in list(folder.iterdir()):
        is_theirs = NOT_THEIRS.fullmatch(path.name) or _NOT_KEPT.fullmatch(path.name)
        if is_theirs or path.is_dir() or _is_of_python(path):
            remove(path)
    for name, text in own_metadata.programs(scripts.items(), f"{ENV}/bin/python"):
        path = folder / name
        if not NOT_THEIRS.fullmatch(name):
            path.unlink(missing_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)


def _is_of_python(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(_OF_PYTHON.match(file.read(200)))


def _distributions(site: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(site.iterdir()):
        if found := _INFO.fullmatch(path.name):
            yield found[1], found[2]


def _node_links(node: Path) -> None:
    """Of links in a `node_modules` those stay that lead to packages in it, or to the repository's own files."""
    root, work = node.resolve(), node.parent.resolve()
    for path in [path for path in _entries(node) if path.is_symlink()]:
        target = path.readlink()
        try:
            there = path.resolve(strict=True)
        except (OSError, RuntimeError):
            there = Path("/")
        if path.parent.name == ".bin" and NOT_THEIRS.fullmatch(path.name):
            path.unlink()
        elif there.is_relative_to(root) and not target.is_absolute():
            continue
        else:
            path.unlink()
            if there.is_relative_to(work) and not target.is_absolute():
                path.symlink_to(f"{WORK}/{there.relative_to(work)}")


def _node_packages(node: Path) -> Iterator[tuple[str, str]]:
    for path in sorted([*node.glob("[!.@]*"), *node.glob("@*/*")]):
        try:
            version = json.loads((path / "package.json").read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        yield str(path.relative_to(node)), str(version)[:80]


def modules_of(paths: Collection[str]) -> frozenset[str]:
    """The modules that a repository has at its root or in `src`."""
    found = set[str]()
    for path in paths:
        parts = path.removeprefix("src/").split("/")
        if len(parts) == 1 and path.endswith(".py"):
            found.add(parts[0].removesuffix(".py"))
        elif len(parts) == 2 and parts[1] == "__init__.py":
            found.add(parts[0])
    return frozenset(found) - {FOLDER, "setup", "conftest"}
