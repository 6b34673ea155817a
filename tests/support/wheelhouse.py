"""A folder of locally made wheels that pip uses offline as its package index. The wheels are small and reproducible."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str], *, needs: tuple[str, ...] = (), plugin: str = ""
) -> Path:
    """Write a pure Python wheel; `plugin` is a module that it registers as a pytest plugin."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: What {name} is for\n"
    inside = {
        **files,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if plugin:
        inside[f"{info}/entry_points.txt"] = f"[pytest11]\nmine = {plugin}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in inside.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in [*inside, f"{info}/RECORD"]))
    return path


def source(folder: Path, name: str, version: str, setup: str) -> Path:
    """Write a source distribution, which runs `setup` when it is built."""
    path = folder / f"{name}-{version}.tar.gz"
    files = {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n"}
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def environ(folder: Path) -> dict[str, str]:
    """Return the environment variables that make pip use this folder and no other source."""
    return {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
