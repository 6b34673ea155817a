"""HTTP for backends: small JSON requests with only the standard library, and the trusted certificate authorities.

An availability check must not load a vendor's package (half a second and tens of megabytes) into an idle daemon. Checks
and model requests trust the same authorities and use the same proxies.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

PROBE_S = 3.0
WHOLE_S = 8.0
MAX_PROBE_BYTES = 8 << 20
AROUND = " \t\r\n\"'\u200b\ufeff"
"""Characters to strip from keys and addresses. They come from pasting, or they are quotes that the parser of the
settings file did not remove.
"""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - an address to ask, not to bind


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of an HTTP request.

    Attributes:
        status: the HTTP status; 0 means that no server answered.
        data: the parsed JSON.
        fault: the reason for a failure in a few words; empty if there is none.
    """

    status: int
    data: Any = None
    fault: str = ""

    @property
    def is_unusable(self) -> bool:
        """True if no API answered: there is no server, or the answer is a login page or a proxy's error."""
        return bool(self.fault) and not 400 <= self.status < 500

    def rows(self, key: str) -> list[Mapping[str, Any]]:
        """Return the objects in the list under `key`; empty for any other data."""
        rows = self.data.get(key) if isinstance(self.data, Mapping) else None
        return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, since a redirect could carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def is_loopback(url: str) -> bool:
    """Check whether the address is this machine, which is never reached through a proxy."""
    host = urlsplit(url).hostname
    return host in LOOPBACK or host == socket.gethostname().lower()


def usual_address(given: str, paths: re.Pattern[str]) -> str:
    """Return the address with a scheme, and without surrounding quotes and spaces and trailing `paths`."""
    address = paths.sub("", given.strip(AROUND).rstrip("/")).rstrip("/")
    if "://" in address:
        return address
    near = is_loopback(f"http://{address}") or re.match(
        r"[\d.:\[]+|([\w-]+|[\w.-]+\.(local|lan|internal))(:|/|$)", address
    )
    return f"{'http' if near else 'https'}://{address}"


@cache
def load_authorities() -> ssl.SSLContext:
    """Return the trusted TLS authorities.

    They are those of the system (or of SSL_CERT_FILE and SSL_CERT_DIR), and those of the package certifi.
    """
    context = ssl.create_default_context()
    with contextlib.suppress(ImportError, OSError):
        import certifi  # noqa: PLC0415 - only where something is asked by TLS

        context.load_verify_locations(certifi.where())
    return context


def fetch_json(url: str, headers: Mapping[str, str], timeout_s: float = PROBE_S, whole_s: float = WHOLE_S) -> Probe:
    """Fetch a JSON page. Never raises. Each read blocks for at most `timeout_s`, the whole call for about `whole_s`."""
    if urlsplit(url).scheme not in {"http", "https"}:
        return Probe(status=0, fault="is not an HTTP address")
    proxy = [urllib.request.ProxyHandler({})] if is_loopback(url) else []
    tls = [urllib.request.HTTPSHandler(context=load_authorities())] if url.startswith("https:") else []
    opener, end_s, body = urllib.request.build_opener(_NoRedirect, *tls, *proxy), time.monotonic() + whole_s, b""
    try:
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - the scheme was checked
        with opener.open(request, timeout=timeout_s) as answer:
            while (part := answer.read1(MAX_PROBE_BYTES)) and len(body) < MAX_PROBE_BYTES:
                body += part
                if time.monotonic() > end_s:
                    raise TimeoutError("the answer does not end")
            return Probe(status=answer.status, data=json.loads(body))
    except urllib.error.HTTPError as error:
        with error:
            return Probe(status=error.code, fault=f"answers {error.code}")
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return Probe(status=0, fault=f"does not answer ({' '.join(str(reason).split())[:200]})")
    except ValueError:
        return Probe(
            status=200, fault="sends an answer that is not JSON; check whether a login page or a proxy answers instead"
        )
