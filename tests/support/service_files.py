"""A small service for tests, and the environment files that declare it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.services import ServicesMaker
from nightshift.verdict.environments.store import FolderStore
from tests.support.sandboxes import runtime

PATH, PORT = ".nightshift/environment.yaml", 7411
SERVER = r"""
import os, socket, sys
log = open(os.environ["DATA"] + "/lines", "a+")
listening = socket.create_server(("127.0.0.1", PORT))
print("it listens", flush=True)
while True:
    asking, _ = listening.accept()
    with asking, asking.makefile("rw") as said:
        line = said.readline().strip()
        if line.startswith("do "):
            found = {}
            try:
                exec(line[3:].replace("\\n", "\n"), found)
            except BaseException as error:
                found["answer"] = type(error).__name__
            print(found.get("answer"), file=said, flush=True)
        elif line:
            print(line, file=log, flush=True)
            log.seek(0)
            print(len(log.readlines()), file=said, flush=True)
"""
"""A server that counts its input lines in its own file; for the line `do` and a statement it returns the `answer`."""
CLIENT = """
import os
import socket


def ask(line):
    port = int(os.environ["COUNTER_PORT"])
    with socket.create_connection(("127.0.0.1", port)) as asked, asked.makefile("rw") as said:
        print(line, file=said, flush=True)
        return said.readline().strip()
"""
COUNTER: Mapping[str, Any] = {"ready": {"port": PORT}, "exports": {"COUNTER_PORT": str(PORT)}}


def python(script: str) -> str:
    """Return a shell command that replaces the shell with the interpreter of test runs, which executes this script."""
    return f"exec {shlex.join((*runtime().python, '-I', '-S', '-c', script))}"


def counter(**more: Any) -> dict[str, Any]:
    """Return the declaration of the small service, as an environment file contains it."""
    return {"start": python(SERVER.replace("PORT", str(PORT), 1)), **COUNTER, **more}


def declare(services: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> dict[str, str]:
    """Return an environment file, keyed by its path, that declares these services. The default is the small service."""
    text = json.dumps({"services": {"counter": counter()} if services is None else services, **more})
    return {PATH: text}  # JSON is valid YAML


def environments(folder: Path) -> Environments:
    """Return environments that have services and nothing else."""
    return Environments(FolderStore(folder / "environments", keep_mb=100), [ServicesMaker()])
