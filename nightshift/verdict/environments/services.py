"""The services that a repository's tests need, as a part of its environment: parsed, and added to each run.

Only the way to start a service is stored: each run starts its own (`sandbox/inside/services.py`). Programs come from
packages of the environment, or from the system.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nightshift.core.code.environments import Service
from nightshift.core.errors import SandboxError
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments import environment_file
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.python import INSIDE, SITE

_FORMAT = "1"


class ServicesMaker:
    """Makes the part of an environment that lists the services (`verdict.environments.making.Maker`)."""

    kind = "services"

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Read the services in a commit's environment file. An invalid file gives a part that cannot be made."""
        path = environment_file.find(files)
        text = files.text(path) if path else None
        if path is None or text is None:
            return None
        try:
            if not environment_file.read(text).services:
                return None
        except SandboxError:
            pass  # `fill` reports it
        return Recipe(kind=self.kind, texts={path: text}, parts=(_FORMAT,))

    async def fill(self, recipe: Recipe, folder: Path) -> Made:  # noqa: ARG002 (nothing is laid down)
        """Parse the file.

        Raises:
            SandboxError: names the invalid fields.
        """
        return Made(more={"services": [service.name for service in _services(recipe)]})

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:  # noqa: ARG002 (the interface)
        """Return the runtime with the services; their variable `PACKAGES` is the environment's package folder."""
        packages = {"PACKAGES": f"{INSIDE}/{SITE}"}
        services = (replace(service, environment={**packages, **service.environment}) for service in _services(recipe))
        return replace(runtime, services=(*runtime.services, *services))


def _services(recipe: Recipe) -> tuple[Service, ...]:
    (text,) = recipe.texts.values()
    return environment_file.read(text).all_services
