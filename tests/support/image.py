"""The daemon's image, built by a real engine on a base image that is packed from this machine, without a registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nightshift.app import packages
from nightshift.sandbox import docker_image
from tests.support import engine
from tests.support.daemon import ROOT

BASE, IMAGE = "nightshift-test-base:latest", "nightshift-test:latest"
_PROGRAMS = ("git", "bwrap", "setpriv", "prlimit", "ionice", "nice", "chown")
# Needed by `python3 -m venv` (the sources of pip, which Debian keeps in a folder of its own) and by git (its commands).
_MORE = (Path(sysconfig.get_path("stdlib"), "ensurepip"), Path("/usr/share/python-wheels"), Path("/usr/lib/git-core"))
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def docker(*words: str, check: bool = True) -> str:
    """Call the engine's client, and return its standard output and standard error in one text."""
    environ = {**os.environ, "DOCKER_HOST": engine.host()}
    called = subprocess.run(
        ["docker", *words], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert called.returncode == 0 or not check, f"docker {' '.join(words)}: {called.stdout[-3000:]}"
    return called.stdout.strip()


def build(context: Path, litter: Mapping[str, str]) -> None:
    """Build the image from the files of this tree that git tracks or does not ignore.

    Args:
        context: an empty folder.
        litter: further files in the owner's tree, path to text.
    """
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout
    packing = ["tar", "--null", "--files-from=-", "-c"]
    packed = subprocess.run(packing, cwd=ROOT, input=files, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(context)], input=packed, check=True)
    for name, text in litter.items():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(text)
    _import_base()
    index = packages.uv_environ(Path(sys.executable), os.environ).get("UV_DEFAULT_INDEX", "")
    given = [f"BASE={BASE}", *([f"PIP_INDEX_URL={index}"] if index.startswith("http") else [])]
    arguments = [word for each in given for word in ("--build-arg", each)]
    docker("build", "--network", "host", "-t", IMAGE, *arguments, str(context))


def remove() -> None:
    """Remove the images, because the engine may be the machine's own."""
    docker("image", "rm", "--force", IMAGE, BASE)


def _wheels() -> list[Path]:
    """List extension modules that load the C and C++ runtime libraries, which every wheel may expect."""
    packages_dir = Path(sysconfig.get_path("platlib"))
    return [path for name in ("re2", "pydantic_core") for path in (packages_dir / name).glob("*.so")]


def _import_base() -> None:
    python = str(Path(sys.executable).resolve())
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    programs = [Path(program) for name in _PROGRAMS if (program := shutil.which(name, path=path))]
    root = docker_image.collect([python], programs=programs, shown=_wheels())
    more = {path for folder in _MORE for path in folder.rglob("*") if path.is_file()}
    texts = {
        "etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n",
        "etc/nsswitch.conf": "hosts: files dns\n", "usr/local/bin/.keep": "", "root/.keep": "",
    }  # fmt: skip
    changes = [f"ENV PATH={Path(python).parent}:/usr/local/bin:/usr/bin:/bin"]
    if _CERTIFICATES.exists():
        texts[str(_CERTIFICATES).lstrip("/")] = _CERTIFICATES.read_text()
        changes += [f"ENV {name}={_CERTIFICATES}" for name in ("SSL_CERT_FILE", "PIP_CERT")]
    base = docker_image.Root(files=tuple(sorted({*root.files, *more})), texts=texts)
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        base.write(file)
        file.flush()
        docker("import", *(word for change in changes for word in ("-c", change)), file.name, BASE)
