"""Package registries in a machine's pip and npm settings, and in the settings that a setup script gets."""

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
    """Environment variables that hide this machine's pip and npm settings."""
    npm = {f"npm_config_{name}": str(tmp_path / name) for name in ("userconfig", "globalconfig", "cache")}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), **npm}


def test_what_pip_npm_uv_and_go_are_configured_to_is_told_without_passwords(environ: dict[str, str]) -> None:
    Path(environ["PIP_CONFIG_FILE"]).write_text(
        f"[global]\nindex-url = {PRIVATE}\nextra-index-url = file:///srv/mirror\n    http://10.0.0.7:8080/simple\n"
    )
    Path(environ["npm_config_userconfig"]).write_text(
        "registry=https://npm.example/all/\n@mine:registry=https://mine.example:8443/\n"
        "//mine.example:8443/:_authToken=hunter2hunter2\n"
    )
    more = {"UV_INDEX": "own=https://a:hunter2hunter2@uv.example/simple", "GOPROXY": "https://go.example,direct"}
    settings = registries.find({**environ, **more})
    assert set(settings.endpoints) == {
        Endpoint("packages.example", 443), Endpoint("10.0.0.7", 8080), Endpoint("npm.example", 443),
        Endpoint("mine.example", 8443), Endpoint("uv.example", 443), Endpoint("go.example", 443),
    }  # fmt: skip
    assert settings.variables["PIP_INDEX_URL"] == "https://packages.example/simple/"
    assert settings.variables["PIP_EXTRA_INDEX_URL"] == "http://10.0.0.7:8080/simple"
    assert settings.variables["UV_INDEX"] == "own=https://uv.example/simple"
    assert settings.variables["GOPROXY"] == "https://go.example,direct"
    assert "@mine:registry=https://mine.example:8443/\n" in settings.npmrc
    assert "hunter2" not in repr(settings)
    assert len(settings.remarks) == 1


def test_of_a_file_of_certificates_only_certificates_are_told(environ: dict[str, str], tmp_path: Path) -> None:
    block = "-----BEGIN CERTIFICATE-----\nMIIBmine\n-----END CERTIFICATE-----"
    bundle = tmp_path / "own.pem"
    bundle.write_text(f"a note\n-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n{block}\n")
    Path(environ["PIP_CONFIG_FILE"]).write_text(f"[global]\ncert = {bundle}\n")
    settings = registries.find(environ)
    assert settings.certificates.startswith(f"{block}\n")
    assert "secret" not in settings.certificates
    assert settings.variables["PIP_CERT"] == settings.variables["NODE_EXTRA_CA_CERTS"] == registries.CERTIFICATES


def test_the_proxy_of_this_machine_is_kept_outside(environ: dict[str, str]) -> None:
    proxy_settings = {"HTTPS_PROXY": "http://me:hunter2%40@proxy.example:3128", "NO_PROXY": "localhost,.inner.example"}
    settings = registries.find({**environ, **proxy_settings})
    assert settings.upstream
    assert settings.upstream.endpoint == Endpoint("proxy.example", 3128)
    assert base64.b64decode(settings.upstream.authorization.removeprefix("Basic ")) == b"me:hunter2@"
    assert settings.upstream.serves("packages.example")
    assert not settings.upstream.serves("a.inner.example")
    assert not settings.upstream.serves("localhost")
    assert "proxy.example" not in repr(settings.variables) + settings.npmrc
