"""npm packages and their lock files, which the ordinary npm client fetches once per machine and day."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = {
    "vitest": {"vitest": "3.2.4", "typescript": "5.9.2"},
    "jest": {"jest": "30.1.3", "@swc/core": "1.13.5", "@swc/jest": "0.2.39"},
    "node:test": {"tsx": "4.20.5", "typescript": "5.9.2"},
    "inspector": {"@modelcontextprotocol/inspector-cli": "1.0.3"},
}
"""The test dependencies of a project for each framework, and of a program that our tests use."""


def package(framework: str, **more: Any) -> str:
    """Return the `package.json` of a project whose tests run with this framework."""
    scripts = {"vitest": "vitest run", "jest": "jest", "node:test": "node --import tsx --test"}
    kind = {} if framework == "jest" else {"type": "module"}
    test = {"scripts": {"test": scripts.get(framework, "")}}
    about = {"name": "shop", "version": "1.0.0", "private": True, **kind, **test}
    return json.dumps({**about, "devDependencies": PACKAGES[framework], **more})


def lock(framework: str) -> str:
    """Return the `package-lock.json` of a project whose tests run with this framework."""
    return (_make(framework) / "package-lock.json").read_text()


def modules(framework: str) -> Path:
    """Return a `node_modules` folder with the dependencies of a project whose tests run with this framework."""
    return _make(framework, installed=True) / "node_modules"


@functools.cache
def _make(framework: str, *, installed: bool = False) -> Path:
    wanted: Mapping[str, str] = PACKAGES[framework]
    digest = hashlib.sha256(json.dumps([wanted, installed, os.getuid(), time.strftime("%F")]).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"nightshift-npm-{digest}")
    with folder.with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # several processes of pytest may need it at the same time
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            (folder / "package.json").write_text(package(framework))
            words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
            words += [] if installed else ["--package-lock-only"]
            subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=300)
            (folder / "done").touch()
    return folder
