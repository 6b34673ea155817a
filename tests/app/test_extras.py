"""Extras, installed by the real uv from a folder of wheels.

A scripted uv replaces the real one if a test needs a network.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app import extras, packages
from nightshift.app.extras import Extra, ExtrasInstaller, Policy
from nightshift.core.errors import ExtraMissing
from nightshift.core.events import Event, Kind
from nightshift.core.status import ExtraState, ExtraStatus
from tests.support.daemon import until

TINY = Extra(name="tiny", modules=("nightshift_tiny",), purpose="trying", megabytes=1)


def wheel(folder: Path, module: str) -> None:
    info, text = f"{module}-1.0.dist-info", "ANSWER = 42\n"
    files = {
        f"{module}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(each)},{len(each)}\n" for name, each in files.items())
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as archive:
        for name, each in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            archive.writestr(name, each)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


class Checkout:
    """A checkout with one extra, and an environment to install it into."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Event] = []
        self.root, self.wheels, self.venv = folder / "root", folder / "wheels", folder / "venv"
        (self.root / "nightshift" / "requirements").mkdir(parents=True)
        (self.root / "nightshift" / "requirements" / "tiny.txt").write_text("nightshift-tiny\n")
        (self.root / "nightshift" / "requirements" / "constraints.txt").write_text("nightshift-tiny==1.0\n")
        self.wheels.mkdir()
        self.python = self.venv / "bin" / "python"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PIP_FIND_LINKS": str(self.wheels),
            "UV_NO_INDEX": "1",
            "UV_CACHE_DIR": str(folder / "cache"),
        }

    def installer(self, policy: Policy = "auto", extra: Extra = TINY) -> ExtrasInstaller:
        return ExtrasInstaller(
            policy,
            emit=self.events.append,
            environ=self.environ,
            root=self.root,
            python=self.python,
            extras={extra.name: extra},
        )

    def kinds(self) -> list[Kind]:
        return [event.kind for event in self.events]

    def script_uv(self, text: str) -> None:
        """Replace uv by a shell script."""
        program = packages.uv_program(self.python)
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    new_checkout = Checkout(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", new_checkout.venv], check=True)
    packages.uv_program(new_checkout.python).symlink_to(packages.uv_program(Path(sys.executable)))
    # Nightshift reads pip's settings with the environment's own pip. This environment has none, so it gets access to
    # the pip of the tests.
    site = next((new_checkout.venv / "lib").glob("python*")) / "site-packages"
    (site / "pip.pth").write_text(f"{Path(sys.prefix, 'lib', site.parent.name, 'site-packages')}\n")
    monkeypatch.syspath_prepend(str(site))
    yield new_checkout
    sys.modules.pop("nightshift_tiny", None)


def only(installer: ExtrasInstaller) -> ExtraStatus:
    (status,) = installer.statuses()
    return status


def test_what_is_wanted_first_is_installed_and_can_be_imported(checkout: Checkout) -> None:
    wheel(checkout.wheels, "nightshift_tiny")
    installer = checkout.installer()
    assert only(installer).state is ExtraState.MISSING
    installer.ensure("tiny")
    assert only(installer).state is ExtraState.INSTALLED
    assert __import__("nightshift_tiny").ANSWER == 42
    assert checkout.kinds() == [Kind.EXTRA_INSTALLING, Kind.EXTRA_INSTALLED]
    installer.ensure("tiny")
    assert len(checkout.events) == 2


@pytest.mark.parametrize("policy", ["ask", "off"])
def test_nothing_is_installed_that_the_settings_do_not_allow(checkout: Checkout, policy: Policy) -> None:
    wheel(checkout.wheels, "nightshift_tiny")
    installer = checkout.installer(policy)
    with pytest.raises(ExtraMissing, match=f"EXTRAS={policy}.*pip install -r nightshift/requirements/tiny.txt"):
        installer.ensure("tiny")
    assert only(installer).state is ExtraState.MISSING
    assert not checkout.events


def test_what_cannot_be_had_says_why_and_is_tried_again(checkout: Checkout) -> None:
    installer = checkout.installer()
    with pytest.raises(ExtraMissing, match="nightshift-tiny"):
        installer.ensure("tiny")
    assert only(installer).state is ExtraState.FAILED
    assert "nightshift-tiny" in only(installer).detail
    (notice,) = extras.notices(installer.statuses())
    assert notice.startswith("tiny could not be installed, for trying: uv failed")
    assert checkout.kinds() == [Kind.EXTRA_INSTALLING, Kind.EXTRA_FAILED]
    wheel(checkout.wheels, "nightshift_tiny")
    installer.ensure("tiny")
    assert only(installer).state is ExtraState.INSTALLED


CUDA = """
echo "$@" >> "$HOME/calls"
case "$*" in
*torch-backend*) echo "error: no index"; exit 2;;
*dry-run*) echo " + torch==2.13.0"; echo " + nvidia-cudnn-cu13==9.1";;
esac
"""


def test_cuda_is_never_installed_where_no_gpu_is(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout.script_uv(CUDA)
    monkeypatch.setattr(extras, "has_gpu", lambda: False)
    with pytest.raises(ExtraMissing, match="no index"):
        checkout.installer().ensure("tiny")
    calls = Path(checkout.environ["HOME"], "calls").read_text().splitlines()
    assert len(calls) == 2
    assert "--dry-run" in calls[0]
    assert calls[1].endswith("--torch-backend cpu")


def test_an_installation_ends_with_the_daemon(checkout: Checkout) -> None:
    checkout.script_uv('case "$*" in *dry-run*) ;; *) echo "Downloading big (1.5GiB)"; exec sleep 600;; esac')
    installer, raised = checkout.installer(), list[str]()

    def wanting() -> None:
        try:
            installer.ensure("tiny")
        except ExtraMissing as error:
            raised.append(str(error))

    thread = threading.Thread(target=wanting)
    thread.start()
    until(lambda: "big" in only(installer).detail)
    assert only(installer).state is ExtraState.INSTALLING
    installer.close()
    thread.join()
    assert raised == ["the daemon is stopping"]
