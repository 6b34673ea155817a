"""A small real file system for tests that fill it: a tmpfs, if the user may mount one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(at: Path, size_mb: int, options: str = "") -> Iterator[Path]:
    """Mount a small file system. Skip the test if the user may not mount one."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    at.mkdir(parents=True, exist_ok=True)
    how = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m{options}", "tmpfs", str(at)]
    done = subprocess.run(how, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=False)


def remount(at: Path, how: str) -> None:
    """Make the file system read-only (`ro`) or writable (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(at)], check=True)


def fill(folder: Path) -> Path:
    """Fill the file system to the last byte, and return the file that uses the space."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for chunk in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * chunk):
                    pass
    return ballast
