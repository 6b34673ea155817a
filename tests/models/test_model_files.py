"""Backends that run model files: error messages about a missing file or package, and the package's installation."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import NightshiftError
from nightshift.core.text.masking import Masker
from nightshift.models.backend_client import HealthProbe
from nightshift.models.base import OnText
from nightshift.models.model_files import ModelFileBackend

PACKAGE = "nightshift_package_that_comes_later"


class Backend(ModelFileBackend):
    name = "later"
    package = PACKAGE
    vendor = "Later"
    variables = ("LATER_MODEL_PATH",)

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        raise NotImplementedError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Path]:
    """Provide an import folder into which the tests install packages."""
    folder = tmp_path / "packages"
    folder.mkdir()
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def test_why_the_package_will_not_come_is_handed_on_and_it_is_not_asked_for_again_at_once(model: Path) -> None:
    asked = []

    def ensure(name: str) -> None:
        asked.append(name)
        raise NightshiftError("EXTRAS=off")

    backend = Backend(path=model, ensure_extra=ensure)
    for _ in range(2):
        assert not backend.is_available()
        assert backend.detail == f"the package {PACKAGE}: EXTRAS=off"
    assert asked == ["later"]


async def test_a_package_is_installed_while_others_go_on_and_then_it_is_available(model: Path, packages: Path) -> None:
    downloaded = threading.Event()

    def ensure(_name: str) -> None:
        downloaded.wait()
        (packages / f"{PACKAGE}.py").write_text("")

    health = HealthProbe(Backend(path=model, ensure_extra=ensure), lambda _event: None, Masker(), utc_now, wait_s=0.1)
    assert not await health.check()
    assert health.why == f"the package {PACKAGE} is being installed"
    downloaded.set()
    while not await health.check():
        assert "being installed" in health.why
    assert health.available
    assert health.why == ""
