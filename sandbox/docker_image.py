"""Provides the image of the containers: made from this machine when it is not there yet, or one that the owner named.

An image of ours is tagged with the digest of its content. Whatever it was made from changes (a newer interpreter, a
security update of a library), the next start finds no image of the new name and makes one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from core.errors import SandboxError
from sandbox import docker_root, scratch
from sandbox.docker_engine import Engine
from sandbox.docker_root import Root
from sandbox.runtime import Runtime

REPOSITORY = "nightshift-sandbox"


def from_machine(engine: Engine, runtime: Runtime) -> str:
    """The name of an image with what runs inside; made now when it is missing.

    Raises:
        SandboxError: it could not be made.
    """
    node = [Path(runtime.node.path)] if runtime.node else []
    is_shown = runtime.node is not None and bool(runtime.node.folder)
    programs, shown = ([], node) if is_shown else (node, [])
    return made(engine, docker_root.collect(runtime.python, programs=programs, shown=shown))


def made(engine: Engine, root: Root, repository: str = REPOSITORY) -> str:
    """The name of an image with this root; made now when it is missing, in the place of the repository's other ones.

    Raises:
        SandboxError: it could not be made.
    """
    try:
        tag = root.digest[:16]
        if not engine.has_image(f"{repository}:{tag}"):
            with tempfile.NamedTemporaryFile(prefix=scratch.prefix("image"), suffix=".tar") as file:
                root.write(file)
                file.flush()
                engine.take_image(Path(file.name), repository, tag)
    except OSError as error:
        raise SandboxError(f"the image cannot be made from this machine: {error}") from error
    return f"{repository}:{tag}"


def named(engine: Engine, name: str) -> str:
    """The owner's own image, which must be there.

    Raises:
        SandboxError: it is not.
    """
    if not engine.has_image(name):
        raise SandboxError(
            f"there is no image {name} (DOCKER_IMAGE); type `docker build -t {name} - < sandbox/Dockerfile`, or "
            "leave the setting out and one is made from this machine"
        )
    return name
