"""What the backends have in common that run a model file on this machine: the file, and the package that runs it."""

from __future__ import annotations

import math
import time
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from nightshift.core.errors import NightshiftError
from nightshift.core.status import install_by_hand
from nightshift.models.base import BaseModelHandler, EnsureExtra
from nightshift.models.choosing import choose
from nightshift.models.errors import BackendMisconfigured
from nightshift.models.gguf import GGUFHeader, is_gguf
from nightshift.models.windows import WIDE, choose_window, memory_bytes

RETRY_S = 600.0
"""How long an installation that failed is not tried again."""


class ModelFileBackend(BaseModelHandler):
    """A GGUF file and an optional package, which may have to be installed first.

    Attributes:
        package: the module that runs the file.
        variable: the setting that names the file.
    """

    package: ClassVar[str]
    variable: ClassVar[str]
    parallel = 1

    def __init__(self, *, path: Path, num_ctx: int | None = None, ensure_extra: EnsureExtra | None = None) -> None:
        super().__init__(model=path.name)
        self._path, self._num_ctx, self._ensure_extra = path, num_ctx, ensure_extra
        self._retry_at_s = -math.inf

    def _choose_window(self, header: GGUFHeader) -> int:
        needed = self._path.stat().st_size + WIDE * header.cache_bytes
        return choose_window(self._num_ctx, header.context_length, needed, memory_bytes())

    @property
    def free(self) -> bool:
        """It runs here."""
        return True

    def is_available(self) -> bool:
        """Whether the file and the package are there; a missing package is installed first, which may take minutes."""
        if not is_gguf(self._path):
            self._detail = f"{self._path} is no GGUF model file: set {self.variable} to one"
        elif time.monotonic() >= self._retry_at_s:
            self._detail = "" if find_spec(self.package) else f"the package {self.package} is being installed"
            try:
                self._require_package()
                self._detail = ""
            except BackendMisconfigured as error:
                self._detail, self._retry_at_s = str(error), time.monotonic() + RETRY_S * bool(self._ensure_extra)
        return not self._detail

    def _require_package(self) -> None:
        """Return when the package is there. Blocks, for minutes where it is installed for that.

        Raises:
            BackendMisconfigured: it is not, and is not going to be now.
        """
        if find_spec(self.package):
            return
        try:
            if self._ensure_extra:
                self._ensure_extra(self.name)
        except NightshiftError as error:
            raise BackendMisconfigured(f"the package {self.package}: {error}") from error
        if not find_spec(self.package):
            by_hand = install_by_hand(self.name)
            raise BackendMisconfigured(f"the package {self.package} is not installed; {by_hand} brings it")


def in_folder(path: Path, model: str | None) -> Path:
    """The file itself, or the named one of a folder; without a name one that can code, if there is one."""
    if not path.is_dir():
        return path
    if model:
        return path / (model if model.endswith(".gguf") else f"{model}.gguf")
    names = sorted(each.name for each in path.glob("*.gguf"))
    return path / (choose(names) or "no-model.gguf")
