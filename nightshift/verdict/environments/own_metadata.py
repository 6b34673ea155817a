"""Writes a folder in which the repository's own package looks as if it were installed in editable mode.

Everything in the folder is derived from files of the repository, and none of them is executed. The folder contains

- `NAME-VERSION.dist-info`, so that `importlib.metadata` finds the version and the entry points,
- `bin` with a program for each console script of the repository and of its environment, and
- the files that make it a virtual environment. Its Python finds the modules that tests import, even if a test starts
  this Python without environment variables.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from nightshift.verdict.languages.python.package_layout import OwnPackage

INSIDE = "/opt/environments/own"
PYTHON = f"{INSIDE}/bin/python"
SETUP = "/env"
"""Path of a setup script's result inside the sandbox."""
SHOWN = "shown.pth"
"""Name of the `.pth` file that adds folders to the import path of the folder's Python."""
_TARGET = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)(?:\s*\[.*\])?")
_PROGRAM = """#!{python}
import sys
from {module} import {first}
sys.argv[0] = sys.argv[0].removesuffix(".exe")
sys.exit({target}())
"""


def site(series: str) -> str:
    """Return the path of `site-packages` within a virtual environment, for a Python series such as `3.11`."""
    return f"lib/python{series}/site-packages"


def with_series(python: str, series: str) -> str:
    """Return the interpreter's name with its series, as in `python3.11`."""
    return python if re.search(r"python\d+\.\d+$", python) else f"{python.rstrip('3')}{series}"


def files_of(own: OwnPackage, modules: Collection[str], series: str) -> dict[str, str]:
    """Return the files of the own package's metadata, path to text; empty if the repository is not a package.

    Args:
        own: the package's description.
        modules: its top-level modules.
        series: the version of the Python that reads it, as in `3.11`.
    """
    if not own.name:
        return {}
    folder = f"{site(series)}/{re.sub(r'[-_.]+', '_', own.name)}-{own.version}.dist-info"
    files = {
        "METADATA": _metadata(own),
        "INSTALLER": "nightshift\n",
        "top_level.txt": "".join(f"{m}\n" for m in modules),
    }
    if own.entry_points:
        groups = (f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in targets.items())
                  for group, targets in own.entry_points.items())  # fmt: skip
        files["entry_points.txt"] = "\n".join(groups)
    return {f"{folder}/{name}": text for name, text in files.items()}


def _metadata(own: OwnPackage) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {own.name}", f"Version: {own.version}"]
    lines += [f"{name}: {_line(value)}" for name, value in own.about]
    lines += [f"Requires-Python: {own.requires_python}"] if own.requires_python else []
    lines += [f"Provides-Extra: {_line(extra)}" for extra in own.extras]
    lines += [
        f"Requires-Dist: {_line(requirement)}"
        for requirement in own.requires
        if not requirement.lstrip().startswith(("#", "-"))
    ]
    for extra, needs in own.extras.items():
        for requirement in needs:
            need, _, marker = _line(requirement).partition(";")
            both = f"({marker.strip()}) and " if marker.strip() else ""
            lines.append(f'Requires-Dist: {need.strip()} ; {both}extra == "{extra}"')
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def programs(entry_points: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """List the name and text of a program for each console script. `entry_points` are names with `module:attribute`."""
    for name, at in entry_points:
        match = _TARGET.fullmatch(at.strip())
        if match and re.fullmatch(r"[A-Za-z0-9_][\w.-]*", name) and name not in {"python", "python3", "sh"}:
            module, target = match[1], match[2]
            text = _PROGRAM.format(python=PYTHON, module=module, first=target.partition(".")[0], target=target)
            yield name, text


def write(
    folder: Path, files: Mapping[str, str], scripts: Mapping[str, str], shown: Iterable[str], python: str
) -> None:
    """Write the folder of the repository's own package, which is also a virtual environment.

    Args:
        folder: an empty folder.
        files: path to text.
        scripts: name to text of each program.
        shown: the lines of the `.pth` file, mainly import paths inside the sandbox.
        python: the path of the interpreter inside the sandbox.
    """
    series = next(iter(re.findall(r"python(\d+\.\d+)$", python)), "")
    site_folder = folder / site(series)
    site_folder.mkdir(parents=True)
    (folder / "bin").mkdir()
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="replace")
    for name, text in scripts.items():
        program = folder / "bin" / name
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    begin(folder, python)
    (site_folder / SHOWN).write_text("".join(f"{path}\n" for path in shown))


def begin(folder: Path, python: str) -> None:
    """Turn a folder that has `bin` into a virtual environment.

    `python` is the path of the environment's interpreter inside the sandbox.
    """
    for name in ("python", "python3", python.rpartition("/")[2]):
        (folder / "bin" / name).unlink(missing_ok=True)
        (folder / "bin" / name).symlink_to(python)
    home = f"home = {python.rpartition('/')[0]}\ninclude-system-site-packages = false\n"
    (folder / "pyvenv.cfg").write_text(home)


def digest(*parts: object) -> str:
    """Return a name for a folder: a digest of the inputs that decide its content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[
        :24
    ]
