"""Labels for the abilities of this machine; a task may require labels (`needs`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from nightshift.config.load import Settings
from nightshift.core.tasks.task import Language

_PROGRAMS = {Language.JAVASCRIPT: "node", Language.GO: "go"}
_GPUS = ("/dev/nvidia0", "/dev/kfd")


def machine_labels(settings: Settings) -> Iterator[str]:
    """Yield the languages that can run here, `gpu` if there is a GPU, and the labels from the settings."""
    yield Language.PYTHON
    for language, program in _PROGRAMS.items():
        if shutil.which(program):
            yield language
    if any(Path(device).exists() for device in _GPUS):
        yield "gpu"
    yield from settings.node_labels
