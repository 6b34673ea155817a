"""The package registries of this machine's installers, and the part of them that a setup script is told.

pip and npm are asked themselves; uv and Go say it in the environment. Inside the sandbox the installers get the same
addresses without passwords, the certificates that this machine trusts, and the folders of packages on its disk. Keys,
tokens and passwords of the owner's stay outside: what is only to be had with them cannot be had by a script.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from nightshift.verdict.environments.registry_proxy import Endpoint, Upstream
from nightshift.verdict.environments.wheels import installers_environment

PUBLIC = (
    "pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "registry.yarnpkg.com", "proxy.golang.org",
    "sum.golang.org",
)  # fmt: skip
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ASK_S = 30.0
_PORTS = {"https": 443, "http": 80}
_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_UV = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
_TOLD_OF_CERTIFICATES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE",
)  # fmt: skip
_HELD_BACK = "the password for {} is not shown to setup scripts, so what needs it cannot be had"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registries:
    """The hosts that a script may reach, and the variables of its installers.

    Attributes:
        endpoints: for the proxy.
        variables: of the environment inside.
        npmrc: the text of npm's settings inside.
        folders: folders of packages on this machine, which are shown read-only at the same place.
        certificates: those that this machine trusts, in PEM; empty where none were found.
        upstream: the proxy that this machine itself must use.
        remarks: what does not hold inside, in lines for the owner.
    """

    endpoints: tuple[Endpoint, ...]
    variables: Mapping[str, str]
    npmrc: str = ""
    folders: tuple[Path, ...] = ()
    certificates: str = ""
    upstream: Upstream | None = None
    remarks: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """Hosts with their ports, those that the owner named first."""
        ordered = sorted(self.endpoints, key=lambda one: not one.configured)
        return tuple(dict.fromkeys(one.shown for one in ordered))


def find(environ: Mapping[str, str], more: Sequence[str] = ()) -> Registries:
    """Ask the installers of this machine.

    Args:
        environ: the daemon's environment; no more of it counts than installers need.
        more: further hosts or addresses that the owner lets scripts reach.
    """
    kept = installers_environment(environ)
    pip, npm, read = _pip(kept), _npm(kept), _Addresses()
    variables = _told_of_python(pip, kept, read)
    proxies = [read.address(one) for one in re.split(r"[,|]", environ.get("GOPROXY", ""))]
    if found := [one for one in proxies if one not in {"", "direct", "off"}]:
        variables["GOPROXY"] = ",".join(found)
    lines = ["audit=false", "fund=false", "update-notifier=false"]
    for name, value in npm.items():
        if name == "registry" or re.fullmatch(r"@[a-z0-9._-]+:registry", name):
            lines.append(f"{name}={read.address(str(value))}")
    for one in more:
        read.address(one if "://" in one else f"https://{one}")
    certificates = _certificates([pip.get("cert", ""), str(npm.get("cafile") or ""), *_named(kept)])
    variables |= dict.fromkeys(_TOLD_OF_CERTIFICATES, CERTIFICATES) if certificates else {}
    named = {one.shown for one in read.endpoints}
    public = (Endpoint(host=name, port=443) for name in PUBLIC)
    return Registries(
        endpoints=(*read.endpoints, *(one for one in public if one.shown not in named)),
        variables=variables,
        npmrc="".join(f"{line}\n" for line in lines),
        folders=tuple(read.folders),
        certificates=certificates,
        upstream=_upstream(environ, pip, npm),
        remarks=tuple(read.remarks),
    )


def _told_of_python(pip: Mapping[str, str], environ: Mapping[str, str], read: _Addresses) -> dict[str, str]:
    """The variables for pip and uv; what the environment says for uv goes before what pip is configured to."""
    variables = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    for option, uv in _UV.items():
        words = [read.address(word) for word in pip.get(option, "").split()]
        asked = [read.address(word) for word in environ.get(uv, "").split()] or words
        variables |= {f"PIP_{option.upper().replace('-', '_')}": " ".join(words)} if words else {}
        variables |= {uv: " ".join(asked)} if asked else {}
    if "UV_INDEX" in variables:
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # of several indexes pip takes the best match
    if pip.get("no-index", "0").lower() not in {"", "0", "false", "no"}:
        variables |= {"PIP_NO_INDEX": "1", "UV_NO_INDEX": "1"}
    if trusted := pip.get("trusted-host"):
        variables["PIP_TRUSTED_HOST"] = " ".join(trusted.split())
    return variables


class _Addresses:
    """Takes addresses apart: what may be reached, what lies on the disk, and what is not told inside."""

    def __init__(self) -> None:
        self.endpoints: dict[Endpoint, None] = {}
        self.folders: dict[Path, None] = {}
        self.remarks: dict[str, None] = {}

    def address(self, text: str) -> str:
        """An address as it is told inside; uv's may have a name before it."""
        name, is_named, bare = text.strip().rpartition("=") if re.match(r"[\w.-]+=\w+://", text) else ("", "", text)
        bare = bare.strip()
        try:
            parts = urlsplit(bare)
            port = parts.port
        except ValueError:
            self.remarks[f"{bare[:100]!r} is no address of a registry"] = None
            return ""
        if parts.scheme == "file" or bare.startswith("/"):
            self._folder(Path(unquote(parts.path)))
        elif parts.scheme in _PORTS and parts.hostname:
            tls = parts.scheme == "https"
            host = parts.hostname.rstrip(".")
            self.endpoints[Endpoint(host=host, port=port or _PORTS[parts.scheme], tls=tls, configured=True)] = None
            if "@" in parts.netloc:
                self.remarks[_HELD_BACK.format(host)] = None
                bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return f"{name}{is_named}{bare}"

    def _folder(self, path: Path) -> None:
        if path.name == "simple" and len(path.parts) > 3:  # the files of a mirror lie beside its pages
            path = path.parent
        if path.is_dir() and not Path.home().is_relative_to(path):
            self.folders[path] = None
        else:
            self.remarks[f"{path} is not shown to setup scripts: it is no folder of packages alone"] = None


def _pip(environ: Mapping[str, str]) -> dict[str, str]:
    """The options that pip is configured to; what the environment says comes last."""
    found = dict[str, str]()
    for line in _said([sys.executable, "-I", "-m", "pip", "config", "list"], environ).splitlines():
        name, _, value = line.partition("=")
        try:
            found[name.rpartition(".")[2]] = str(ast.literal_eval(value))
        except (ValueError, SyntaxError):
            continue
    return found


def _npm(environ: Mapping[str, str]) -> dict[str, Any]:
    program = shutil.which("npm", path=environ.get("PATH"))
    try:
        found = json.loads(_said([program, "config", "list", "--json"], environ)) if program else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _said(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(argv, env=dict(environ), capture_output=True, text=True, check=False, timeout=ASK_S,
                              stdin=subprocess.DEVNULL, cwd="/")  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _named(environ: Mapping[str, str]) -> Iterable[str]:
    """The certificates of this machine that its variables name."""
    names = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE")
    yield from (environ.get(name, "") for name in names)
    usual = ssl.get_default_verify_paths()
    yield from (usual.cafile or "", usual.openssl_cafile, CERTIFICATES)


def _certificates(paths: Iterable[str]) -> str:
    """All certificates of these files, and nothing else that stands in them."""
    blocks = dict[str, None]()
    for path in dict.fromkeys(path for path in paths if path):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        blocks |= dict.fromkeys(_BLOCK.findall(text))
    return "".join(f"{block}\n" for block in blocks)


def _upstream(environ: Mapping[str, str], pip: Mapping[str, str], npm: Mapping[str, Any]) -> Upstream | None:
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
    told = [environ.get(name, "") for name in names] + [pip.get("proxy", ""), str(npm.get("https-proxy") or "")]
    address = next((one for one in told if one), "")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    except_for = re.split(r"[,\s]+", environ.get("NO_PROXY", environ.get("no_proxy", "")))
    return Upstream(
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        tls=parts.scheme == "https",
        authorization=_basic(parts),
        except_for=tuple(one for one in except_for if one),
    )


def _basic(parts: SplitResult) -> str:
    if not parts.username:
        return ""
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(both.encode()).decode()}"
