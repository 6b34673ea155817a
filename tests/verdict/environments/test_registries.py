"""The registries that the real pip and npm of a machine name, and how much of them a script is told."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from nightshift.verdict.environments import registries
from nightshift.verdict.environments.outbound import Endpoint

PRIVATE = "https://owner:hunter2hunter2@packages.example/simple/"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment without settings of this machine's."""
    npm = {f"npm_config_{name}": str(tmp_path / name) for name in ("userconfig", "globalconfig", "cache")}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), **npm}


def test_without_settings_no_registry_is_named(environ: dict[str, str]) -> None:
    found = registries.find(environ)
    assert {endpoint.host for endpoint in found.endpoints} <= {"registry.npmjs.org"}
    assert found.upstream is None
    assert not found.remarks


def test_what_pip_npm_uv_and_go_are_configured_to_is_told_without_passwords(environ: dict[str, str]) -> None:
    Path(environ["PIP_CONFIG_FILE"]).write_text(
        f"[global]\nindex-url = {PRIVATE}\nextra-index-url = file:///srv/mirror\n    http://10.0.0.7:8080/simple\n"
    )
    Path(environ["npm_config_userconfig"]).write_text(
        "registry=https://npm.example/all/\n@mine:registry=https://mine.example:8443/\n"
        "//mine.example:8443/:_authToken=hunter2hunter2\n"
    )
    more = {"UV_INDEX": "own=https://a:hunter2hunter2@uv.example/simple", "GOPROXY": "https://go.example,direct"}
    found = registries.find({**environ, **more})
    assert set(found.endpoints) == {
        Endpoint("packages.example", 443), Endpoint("10.0.0.7", 8080), Endpoint("npm.example", 443),
        Endpoint("mine.example", 8443), Endpoint("uv.example", 443), Endpoint("go.example", 443),
    }  # fmt: skip
    assert found.variables["PIP_INDEX_URL"] == "https://packages.example/simple/"
    assert found.variables["PIP_EXTRA_INDEX_URL"] == "http://10.0.0.7:8080/simple"
    assert found.variables["UV_INDEX"] == "own=https://uv.example/simple"
    assert found.variables["GOPROXY"] == "https://go.example,direct"
    assert "@mine:registry=https://mine.example:8443/\n" in found.npmrc
    assert "hunter2" not in repr(found)
    assert len(found.remarks) == 1


def test_of_a_file_of_certificates_only_certificates_are_told(environ: dict[str, str], tmp_path: Path) -> None:
    block = "-----BEGIN CERTIFICATE-----\nMIIBmine\n-----END CERTIFICATE-----"
    bundle = tmp_path / "own.pem"
    bundle.write_text(f"a note\n-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n{block}\n")
    Path(environ["PIP_CONFIG_FILE"]).write_text(f"[global]\ncert = {bundle}\n")
    found = registries.find(environ)
    assert found.certificates.startswith(f"{block}\n")
    assert "secret" not in found.certificates
    assert found.variables["PIP_CERT"] == found.variables["NODE_EXTRA_CA_CERTS"] == registries.CERTIFICATES


def test_the_proxy_of_this_machine_is_kept_outside(environ: dict[str, str]) -> None:
    told = {"HTTPS_PROXY": "http://me:hunter2%40@proxy.example:3128", "NO_PROXY": "localhost,.inner.example"}
    found = registries.find({**environ, **told})
    assert found.upstream
    assert found.upstream.endpoint == Endpoint("proxy.example", 3128)
    assert base64.b64decode(found.upstream.authorization.removeprefix("Basic ")) == b"me:hunter2@"
    assert found.upstream.serves("packages.example")
    assert not found.upstream.serves("a.inner.example")
    assert not found.upstream.serves("localhost")
    assert "proxy.example" not in repr(found.variables) + found.npmrc
