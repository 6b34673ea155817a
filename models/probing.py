"""Asks a server for a small JSON page with the standard library alone.

Looking whether a model is there must not load a vendor's package, half a second and tens of megabytes, into a daemon
that idles.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

PROBE_S = 3.0
MAX_BYTES = 8 << 20
CODERS = (r"coder", r"devstral|codestral|starcoder", r"code")
"""Names of models made for code, best first; see `choose`."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What came back: `status` 0 means that nobody answered, `fault` says why in a few words."""

    status: int
    data: Any = None
    fault: str = ""

    def rows(self, key: str) -> list[Mapping[str, Any]]:
        """The list of objects under `key`, whatever else the server may have sent."""
        found = self.data.get(key) if isinstance(self.data, Mapping) else None
        return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def is_loopback(url: str) -> bool:
    """Whether the address is this machine, which is never reached through a proxy."""
    return urlsplit(url).hostname in LOOPBACK


def fetch_json(url: str, headers: Mapping[str, str], timeout_s: float = PROBE_S) -> Probe:
    """Get a page. Never raises; blocks for `timeout_s` at a time at most."""
    if urlsplit(url).scheme not in {"http", "https"}:
        return Probe(status=0, fault="is no http address")
    proxy = [urllib.request.ProxyHandler({})] if is_loopback(url) else []
    opener = urllib.request.build_opener(_NoRedirect, *proxy)
    try:
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - the scheme was checked
        with opener.open(request, timeout=timeout_s) as answer:
            return Probe(status=answer.status, data=json.loads(answer.read(MAX_BYTES)))
    except urllib.error.HTTPError as error:
        with error:
            return Probe(status=error.code, fault=f"answers {error.code}")
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return Probe(status=0, fault=f"does not answer ({' '.join(str(reason).split())[:200]})")
    except ValueError:
        return Probe(status=200, fault="answers something that is not JSON")


def choose(names: Sequence[str], preferred: Iterable[str], unfit: str) -> str | None:
    """The model to use when none was named.

    Args:
        names: what the server offers, best first.
        preferred: regular expressions, best first; the first offered name that one of them finds is taken.
        unfit: what names of models that cannot chat look like.
    """
    fit = [name for name in names if not re.search(unfit, name, re.IGNORECASE)]
    for pattern in preferred:
        for name in fit:
            if re.search(pattern, name, re.IGNORECASE):
                return name
    return fit[0] if fit else None
