"""An HTTP client for forges with conditional requests, paged lists, rate limits and one error for an unavailable forge.

Each cached answer is requested again with its ETag, so checking an unchanged repository costs only a few empty answers,
which GitHub does not count. Answers are cached in memory only. A daemon that dies reads everything again, so it cannot
have recorded a change as seen without acting on it.

The token is sent only to the forge's own address. Redirects are not followed, and a list's next page at another address
is refused.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from nightshift.core.clock import Clock
from nightshift.core.text.masking import printable
from nightshift.models.http_access import is_loopback
from nightshift.models.stream_watch import UNCOMPRESSED, limit_responses
from nightshift.remote.forges.port import ForgeAway, ForgeRefused

if TYPE_CHECKING:
    import httpx

REQUEST_S = 30.0
MAX_ANSWER_BYTES = 16 << 20
MAX_PAGES = 50
PER_PAGE = 50
KEPT, KEPT_BYTES = 500, 1 << 20
LONGEST_REST_S = 7200.0
"""The longest pause that is respected, in seconds. If a forge asks for a longer one, its clock or ours may be wrong."""
SECONDARY_REST_S = 60.0
"""Seconds to pause for a secondary rate limit without a stated time, as GitHub advises."""


@dataclass(frozen=True, slots=True)
class _Kept:
    etag: str
    content: bytes
    following: str


class Client:
    """Sends requests to one forge, one at a time.

    Args:
        base: the base address of the API.
        headers: sent with each request; they contain the token.
        clock: returns the current time, to compute pauses.
        request_s: timeout of one request, in seconds.
    """

    def __init__(self, base: str, headers: Mapping[str, str], clock: Clock, *, request_s: float = REQUEST_S) -> None:
        self._base, self._headers, self._clock, self._request_s = base.rstrip("/"), dict(headers), clock, request_s
        self._cache: OrderedDict[str, _Kept] = OrderedDict()
        self._http: httpx.AsyncClient | None = None

    async def get(self, path: str, **query: str | int) -> Any:
        """Return the content at a path of the API.

        Raises:
            ForgeRefused: the forge refuses the request.
            ForgeAway: the forge does not answer, or asks for a pause.
        """
        return (await self._page(self._address(path, query)))[0]

    async def find(self, path: str, **query: str | int) -> Any:
        """Return the content at a path, as `get` does; None if it does not exist or is hidden from the token."""
        try:
            return await self.get(path, **query)
        except ForgeRefused as refused:
            if refused.status in {404, 410} or 300 <= refused.status < 400:  # deleted, or moved elsewhere
                return None
            raise

    async def pages(self, path: str, key: str = "", /, **query: str | int) -> list[Mapping[str, Any]]:
        """Return all rows of a list, from all its pages. `key` names the list if the answer is an object."""
        rows: list[Mapping[str, Any]] = []
        address = self._address(path, query)
        for _ in range(MAX_PAGES):
            content, following = await self._page(address)
            part = content.get(key) if key and isinstance(content, Mapping) else content
            if not isinstance(part, list) or not all(isinstance(row, Mapping) for row in part):
                raise ForgeAway(f"the answer to {path} is not a list")
            rows += part
            if not following:
                if len(part) >= PER_PAGE:  # read again next time, since a next page would not change this page's ETag
                    self._cache.pop(address, None)
                break
            address = following
        return rows

    async def send(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """Send a write request and return the forge's answer.

        Raises:
            ForgeRefused: the forge refuses the request.
            ForgeAway: the forge does not answer, or asks for a pause. It may have carried out the request anyway.
        """
        answer = await self._send_request(method, self._address(path, {}), {}, json.dumps(body).encode())
        return _json(answer.content, path) if answer.content else None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    def _address(self, path: str, query: Mapping[str, str | int]) -> str:
        return f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

    async def _page(self, address: str) -> tuple[Any, str]:
        """Return the content at an address, and the address of the next page."""
        cached = self._cache.get(address)
        answer = await self._send_request("GET", address, {"If-None-Match": cached.etag} if cached else {}, None)
        if answer.status_code == 304 and cached:
            self._cache.move_to_end(address)
            return _json(cached.content, address), self._following(answer) or cached.following
        following = self._following(answer)
        content = _json(answer.content, address)
        if (etag := answer.headers.get("etag")) and len(answer.content) <= KEPT_BYTES:
            self._cache[address] = _Kept(etag, answer.content, following)
            while len(self._cache) > KEPT:
                self._cache.popitem(last=False)
        return content, following

    def _following(self, answer: httpx.Response) -> str:
        """Return the address of a list's next page, which must be on the same host; empty if there is none."""
        link = answer.links.get("next", {}).get("url", "")
        if not link:
            return ""
        address = urljoin(str(answer.url), link)
        if urlsplit(address)[:2] != urlsplit(self._base)[:2]:
            raise ForgeRefused(400, "Nightshift refused the next page of a list, because it is at another address")
        return address

    async def _send_request(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes | None
    ) -> httpx.Response:
        import httpx  # noqa: PLC0415  most owners have no forge

        if self._http is None:
            self._http = httpx.AsyncClient(
                headers={"User-Agent": "Nightshift", **UNCOMPRESSED, **self._headers},
                timeout=self._request_s,
                trust_env=not is_loopback(self._base),
                event_hooks={"response": [limit_responses(httpx, MAX_ANSWER_BYTES)]},
            )
        typed = {"Content-Type": "application/json"} if body is not None else {}
        try:
            async with asyncio.timeout(self._request_s):  # httpx's own timeout applies to each part of an answer
                answer = await self._http.request(method, address, headers={**typed, **headers}, content=body)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise ForgeAway(f"the forge does not answer: {type(error).__name__}") from None
        self._judge(answer)
        return answer

    def _judge(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status < 300 or status == 304:
            return
        message = _message(answer)
        if (rest_s := self._rest_s(answer, message)) is not None:
            raise ForgeAway(f"the forge's rate limit is reached (HTTP {status})", rest_s)
        if status >= 500 or status == 408:
            raise ForgeAway(f"the forge cannot answer now (HTTP {status})", self._retry_after(answer))
        if status == 401:
            raise ForgeRefused(
                401, "the forge does not accept the token (HTTP 401); renew the token, or set another one"
            )
        if status < 400:
            raise ForgeRefused(
                status, f"the repository has moved (HTTP {status}); set the new address in the setting `forges`"
            )
        raise ForgeRefused(
            status, f"the forge refused the request (HTTP {status})" + (f": {message}" if message else "")
        )

    def _rest_s(self, answer: httpx.Response, message: str) -> float | None:
        """Return the seconds to pause if the answer reports a rate limit; None for any other error."""
        status, headers = answer.status_code, answer.headers
        spent = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0"
        if status not in {403, 429} or not (
            status == 429 or spent or "retry-after" in headers or "rate limit" in message.lower()
        ):
            return None
        asked = self._retry_after(answer)
        if asked is None and spent:
            asked = self._until(headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", "")))
        return max(1.0, min(LONGEST_REST_S, SECONDARY_REST_S if asked is None else asked))

    def _retry_after(self, answer: httpx.Response) -> float | None:
        header: str = answer.headers.get("retry-after", "")
        if header.isdigit():
            return min(LONGEST_REST_S, float(header))
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return max(0.0, min(LONGEST_REST_S, (at - self._clock()).total_seconds()))

    def _until(self, seconds: str) -> float | None:
        """Return the seconds from now until a Unix time, given as text; None if the text is not a time."""
        if not seconds.isdigit() or len(seconds) > 12:
            return None
        return (datetime.fromtimestamp(int(seconds), UTC) - self._clock()).total_seconds() + 1.0


def segment(text: str) -> str:
    """Escape a text for use as one segment of a URL path."""
    return quote(text, safe="")


def text_of(value: object) -> str:
    """Return a value of an answer if it is a text, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def _json(content: bytes, what: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ForgeAway(f"the answer to {urlsplit(what).path} is not JSON") from None


def _message(answer: httpx.Response) -> str:
    """Return the message of the forge's error answer, on one line."""
    try:
        content = json.loads(answer.content)
    except (ValueError, RecursionError):
        return ""
    message = (content.get("message") or content.get("error")) if isinstance(content, Mapping) else ""
    details = content.get("errors") if isinstance(content, Mapping) else None
    parts = [message if isinstance(message, str) else json.dumps(message), *_details(details)]
    return printable(" ".join(": ".join(filter(None, parts)).split()), max_chars=300)


def _details(errors: object) -> list[str]:
    rows = errors if isinstance(errors, list) else []
    return [text_of(each.get("message")) if isinstance(each, Mapping) else str(each) for each in rows[:3]]
