#!/usr/bin/env python3
"""Copies the browser libraries into nightshift/server/static/vendor, and checks the copies against the lock.

`vendor.py` needs npm and a network: it installs exactly the versions that package-lock.json pins (no install scripts),
copies the few files that the pages load, and writes manifest.json with the version, licence and digest of each.
`--check` needs neither npm nor a network: it compares the copies with manifest and lock, and is run by the tests.
`--update` is for a changed version in package.json: it ignores the old package-lock.json and writes a new one.

Two rewrites make the copies work for pages without a build step and under a strict content security policy: bare
imports become relative (an import map would be an inline script), and Pico is put in a cascade layer, so that each of
our own rules wins. A library that makes code from text is refused.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "nightshift" / "server" / "static" / "vendor"
OWN = {"package.json", "package-lock.json", "manifest.json"}
NPM_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved")

RELATIVE = {
    "preact": "./preact.js",
    "preact/hooks": "./hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
MAKES_CODE = re.compile(r"\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(\s*[\"'`]")


class Refused(Exception):
    """Raised when a package from npm may not be served; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of a package, the name of its copy, and the function that adapts it."""

    package: str
    path: str
    copy: str
    fit: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """The entry of a copy in the manifest."""

    package: str
    version: str
    licence: str
    sha384: str


def relative(text: str) -> str:
    """Return a module whose imports name the files beside it.

    Raises:
        Refused: the module imports something that is not vendored.
    """

    def relate(match: re.Match[str]) -> str:
        if match[2] not in RELATIVE:
            raise Refused(f"imports {match[2]!r}, which is not vendored")
        return f'{match[1]}"{RELATIVE[match[2]]}"'

    return re.sub(r"""(\bfrom\s*|\bimport\s*)["']([^"'./][^"']*)["']""", relate, text)


def put_in_layer(text: str) -> str:
    """Put a stylesheet into the cascade layer `pico`, so that rules outside layers win whatever their specificity."""
    return "@layer pico {" + text.removeprefix("\ufeff").replace('@charset "UTF-8";', "") + "}\n"


SOURCES = (
    Source(package="preact", path="dist/preact.mjs", copy="preact.js", fit=relative),
    Source(package="preact", path="hooks/dist/hooks.mjs", copy="hooks.js", fit=relative),
    Source(package="@preact/signals-core", path="dist/signals-core.mjs", copy="signals-core.js", fit=relative),
    Source(package="@preact/signals", path="dist/signals.mjs", copy="signals.js", fit=relative),
    Source(package="htm", path="dist/htm.mjs", copy="htm.js", fit=relative),
    Source(package="@picocss/pico", path="css/pico.min.css", copy="pico.css", fit=put_in_layer),
)


def digest(data: bytes) -> str:
    """Return the SHA-384 of a file in the form of subresource integrity."""
    return "sha384-" + base64.b64encode(hashlib.sha384(data).digest()).decode()


def vendor(folder: Path, *, update: bool = False) -> None:
    """Install with npm in a temporary folder, and replace the copies.

    Raises:
        Refused: a file may not be served.
        subprocess.CalledProcessError: npm failed.
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for each in ("package.json",) if update else ("package.json", "package-lock.json"):
            shutil.copy(folder / each, work)
        subprocess.run(["npm", "install" if update else "ci", *NPM_FLAGS], cwd=work, check=True)
        copies = {source.copy: _fit(work / "node_modules", source) for source in SOURCES}
        _replace(folder, work, copies)


def _fit(modules: Path, source: Source) -> tuple[str, Copied]:
    root = modules / source.package
    about = json.loads((root / "package.json").read_text())
    text = re.sub(r"(//|/\*)# sourceMappingURL=.*?(\*/|$)", "", (root / source.path).read_text(), flags=re.MULTILINE)
    if MAKES_CODE.search(text):
        raise Refused(f"{source.package}/{source.path} makes code of text, which the pages' policy forbids")
    fitted = source.fit(text)
    copied = Copied(
        package=source.package,
        version=about["version"],
        licence=about["license"],
        sha384=digest(fitted.encode()),
    )
    return fitted, copied


def _replace(folder: Path, work: Path, copies: dict[str, tuple[str, Copied]]) -> None:
    for name, (text, _) in copies.items():
        (folder / name).write_text(text)
    licences = folder / "licences"
    licences.mkdir(exist_ok=True)
    for package in sorted({source.package for source in SOURCES}):
        licence = next((work / "node_modules" / package).glob("LICENSE*"))
        shutil.copy(licence, licences / f"{package.replace('/', '-').removeprefix('@')}.txt")
    manifest = {name: asdict(copied) for name, (_, copied) in sorted(copies.items())}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    shutil.copy(work / "package-lock.json", folder)


def faults(folder: Path) -> Iterator[str]:
    """Yield the faults of a folder of copies, as sentences; nothing if all copies are as pinned."""
    manifest = _json(folder / "manifest.json")
    names = {path.name for path in folder.iterdir() if path.is_file()} - OWN
    for name in sorted(names ^ manifest.keys()):
        yield f"{name} is {'not in the manifest' if name in names else 'missing'}"
    for name in sorted(names & manifest.keys()):
        if digest((folder / name).read_bytes()) != manifest[name]["sha384"]:
            yield f"{name} was changed after it was vendored"
    yield from _faults_of_lock(folder, manifest)


def _faults_of_lock(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    lock, wanted = _json(folder / "package-lock.json")["packages"], _json(folder / "package.json")["dependencies"]
    for name, version in wanted.items():
        pinned = lock.get(f"node_modules/{name}", {})
        if pinned.get("version") != version:
            yield f"package.json names {name} {version}, the lock {pinned.get('version')}"
        if not str(pinned.get("integrity", "")).startswith("sha512-"):
            yield f"the lock has no digest of {name}"
    for path, pinned in lock.items():
        if "resolved" in pinned:
            yield f"the lock names where {path} was downloaded"
    for name, entry in manifest.items():
        if entry["version"] != wanted.get(entry["package"]):
            yield f"{name} is of {entry['package']} {entry['version']}, not {wanted.get(entry['package'])}"
        if not (folder / "licences" / f"{entry['package'].replace('/', '-').removeprefix('@')}.txt").exists():
            yield f"the licence of {entry['package']} is missing"


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, and vendor or check the copies; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--check", action="store_true", help="compare the copies with manifest and lock; changes nothing"
    )
    choice.add_argument("--update", action="store_true", help="pin anew what package.json names")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        vendor(FOLDER, update=chosen.update)
    problems = list(faults(FOLDER))
    print(*problems or ["the vendored files are as pinned"], sep="\n", file=sys.stderr if problems else sys.stdout)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
