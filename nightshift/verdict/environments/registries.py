"""Finds the package registries of this machine's installers, and the settings for a sandbox with a network.

pip and npm report their own settings; the settings of uv and Go are environment variables. The installers in the
sandbox get the same addresses without passwords, and the certificates that this machine trusts.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nightshift.verdict.environments.outbound import Endpoint, Upstream, read_upstream
from nightshift.verdict.environments.wheels import installers_environment

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ASK_S = 30.0
_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_LOGIN = re.compile(r"(?<=://)[^/\s@]*@")
_ADDRESS = re.compile(r"https?://[^\s,|]+")
_OF_CERTIFICATES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE",
)  # fmt: skip
_OF_PIP = {"index-url": ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), "extra-index-url": ("PIP_EXTRA_INDEX_URL", "UV_INDEX")}
_WITHOUT_PASSWORDS = "setup scripts get no passwords of package registries, so packages that need one are unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registries:
    """The addresses of this machine's registries, and the settings of the installers inside the sandbox.

    Attributes:
        endpoints: the hosts and ports of the registries, which may be on this machine.
        variables: the environment variables inside the sandbox.
        npmrc: the text of npm's settings inside the sandbox.
        certificates: the certificates that this machine trusts, in PEM; empty if none were found.
        upstream: the proxy through which this machine reaches the network; None without one.
        remarks: lines for the owner about settings that do not apply inside the sandbox.
    """

    endpoints: tuple[Endpoint, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    npmrc: str = ""
    certificates: str = ""
    upstream: Upstream | None = None
    remarks: tuple[str, ...] = ()


def find(environ: Mapping[str, str]) -> Registries:
    """Ask this machine's installers for their registries.

    Args:
        environ: the daemon's environment, of which only the variables for installers and proxies are used.
    """
    ours = installers_environment(environ)
    pip, npm = _ask_pip(ours), _ask_npm(ours)
    variables = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    for option, (name, of_uv) in _OF_PIP.items():
        if addresses := " ".join(_ADDRESS.findall(pip.get(option, ""))):
            variables |= {name: addresses, of_uv: addresses}
    variables |= {name: environ[name] for name in ("UV_DEFAULT_INDEX", "UV_INDEX", "GOPROXY") if environ.get(name)}
    if "UV_INDEX" in variables:
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip chooses the best match among all indexes
    if trusted := pip.get("trusted-host"):
        variables["PIP_TRUSTED_HOST"] = " ".join(trusted.split())
    lines = [
        f"{name}={value}\n" for name, value in npm.items() if re.fullmatch(r"(@[a-z0-9._-]+:)?registry", str(name))
    ]
    npmrc = "".join(["audit=false\n", "fund=false\n", "update-notifier=false\n", *lines])
    certificates = _read_certificates([pip.get("cert", ""), str(npm.get("cafile") or ""), *_list_bundles(ours)])
    texts = (*variables.values(), npmrc)
    return Registries(
        endpoints=tuple(dict.fromkeys(_endpoints(texts))),
        variables={name: _LOGIN.sub("", value) for name, value in variables.items()}
        | (dict.fromkeys(_OF_CERTIFICATES, CERTIFICATES) if certificates else {}),
        npmrc=_LOGIN.sub("", npmrc),
        certificates=certificates,
        upstream=read_upstream(environ),
        remarks=(_WITHOUT_PASSWORDS,) if any(map(_LOGIN.search, texts)) else (),
    )


def _endpoints(texts: Iterable[str]) -> Iterable[Endpoint]:
    for address in _ADDRESS.findall("\n".join(texts)):
        try:
            parts = urlsplit(address)
            if parts.hostname:
                yield Endpoint(parts.hostname.rstrip("."), parts.port or (443 if parts.scheme == "https" else 80))
        except ValueError:  # an invalid port or address, which the installer reports itself
            continue


def _ask_pip(environ: Mapping[str, str]) -> dict[str, str]:
    """Return pip's configured options. Options from environment variables come last and take precedence."""
    options = dict[str, str]()
    for line in _run([sys.executable, "-I", "-m", "pip", "config", "list"], environ).splitlines():
        name, _, value = line.partition("=")
        try:
            options[name.rpartition(".")[2]] = str(ast.literal_eval(value))
        except (ValueError, SyntaxError):
            continue
    return options


def _ask_npm(environ: Mapping[str, str]) -> dict[str, Any]:
    program = shutil.which("npm", path=environ.get("PATH"))
    try:
        options = json.loads(_run([program, "config", "list", "--json"], environ)) if program else {}
    except ValueError:
        return {}
    return options if isinstance(options, dict) else {}


def _run(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(argv, env=dict(environ), capture_output=True, text=True, check=False, timeout=ASK_S,
                              stdin=subprocess.DEVNULL, cwd="/")  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _list_bundles(environ: Mapping[str, str]) -> list[str]:
    """List the certificate files that this machine's variables and its OpenSSL name."""
    usual = ssl.get_default_verify_paths()
    return [
        *(environ.get(name, "") for name in _OF_CERTIFICATES),
        usual.cafile or "",
        usual.openssl_cafile,
        CERTIFICATES,
    ]


def _read_certificates(paths: Iterable[str]) -> str:
    """Return all certificates in these files, without their other content."""
    blocks = dict[str, None]()
    for path in dict.fromkeys(path for path in paths if path):
        try:
            blocks |= dict.fromkeys(_BLOCK.findall(Path(path).read_text(encoding="utf-8", errors="replace")))
        except OSError:
            continue
    return "".join(f"{block}\n" for block in blocks)
