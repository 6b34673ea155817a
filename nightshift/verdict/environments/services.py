"""Makes the part of an environment that describes the services that tests need, such as a database.

The part only describes how a service is started: each run starts its own services (`sandbox/inside/services.py`). Their
programs come from packages of the environment, or from the system.
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
        """Read the services in a commit's environment file; None if it has none.

        An invalid file still gives a recipe, because `fill` then reports the error.
        """
        path = environment_file.find(files)
        text = files.text(path) if path else None
        if path is None or text is None:
            return None
        try:
            if not environment_file.read(text).services:
                return None
        except SandboxError:
            pass  # `fill` reports the error
        return Recipe(kind=self.kind, texts={path: text}, parts=(_FORMAT,))

    async def fill(self, recipe: Recipe, folder: Path) -> Made:  # noqa: ARG002 (nothing is laid down)
        """Check the environment file, and note the names of its services.

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
