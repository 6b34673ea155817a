"""What the vendors with generated clients (OpenAI, Anthropic) have in common.

That is the lazily loaded client, the translation of its errors, and leaving out request parameters that a server does
not support.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.models.base import BaseModelHandler
from nightshift.models.errors import ToolsRefused, from_status, quote
from nightshift.models.http_access import UNCOMPRESSED, Probe, beginning, bounded, is_loopback

# Said in the middle of a stream, where the status is 200 already.
_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error"})
_ABOUT_TOOLS = re.compile(r"\btools?\b|\btool[-_ ]", re.IGNORECASE)
_NOT_THERE = re.compile(r"support|require", re.IGNORECASE)
_TOO_LONG = re.compile(r"context (length|window|size)|too long", re.IGNORECASE)


class RemoteBackend(BaseModelHandler):
    """A vendor's HTTP API behind the vendor's own client package.

    Attributes:
        vendor: the name that messages to the owner use.
        optional: request parameters that are left out from then on when a server complains about them.
    """

    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.NATIVE, ToolProtocol.TEXT)
    vendor: ClassVar[str]
    optional: ClassVar[frozenset[str]]

    def __init__(self, *, model: str | None, api_key: str | None, base_url: str, connect_s: float = 5.0) -> None:
        super().__init__(model=model)
        self._named = bool(model)
        self._key, self._base_url, self._connect_s = api_key, base_url.rstrip("/"), connect_s
        self._unsupported: set[str] = set()
        self._client: Any = None
        self._loading = asyncio.Lock()

    @property
    def free(self) -> bool:
        """A server on this machine costs nothing."""
        return is_loopback(self._base_url)

    @property
    def account(self) -> str:
        """The address and a digest of the key: with another key the limits are others, too."""
        digest = hashlib.sha256((self._key or "").encode()).hexdigest()[:12]
        return f"{self._base_url} {digest}"

    @abstractmethod
    def _new_client(self, http_options: dict[str, Any]) -> Any:
        """Import the package and make its asynchronous client, without retries of its own."""

    async def _connected(self) -> Any:
        """The client. It is made in a thread, because importing the package takes up to a second."""
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._load)
        return self._client

    def _load(self) -> Any:
        # The vendors' packages look at `httpx` once it is in `sys.modules`. A thread that begins to import it later for
        # an embedder or another backend, would put half of it there.
        with suppress(ImportError):
            import httpx  # noqa: F401, PLC0415
        import httpx2  # noqa: PLC0415 - heavy; only needed once a model is asked

        # Without a read time-out: how long to wait is the gateway's decision.
        timeout = httpx2.Timeout(None, connect=self._connect_s)
        return self._new_client(
            {
                "timeout": timeout,
                "trust_env": not is_loopback(self._base_url),
                # A prompt is the owner's code: it goes to the address that he set and nowhere else.
                "follow_redirects": False,
                "headers": UNCOMPRESSED,
                "event_hooks": {"response": [bounded(httpx2)]},
            }
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _drop_unsupported(self, status: int, message: str, sent: Iterable[str]) -> bool:
        """Remember the optional parameter that a refusal complains about; whether there was one to leave out.

        Raises:
            ToolsRefused: the complaint is about the tools.
        """
        refused = status in {400, 422}
        blamed = {name for name in self.optional.intersection(sent) if refused and name in message}
        self._unsupported |= blamed
        if not blamed and "tools" in sent and _tools_blamed(status, message):
            self.protocols = (ToolProtocol.TEXT,)
            said = quote(message, self._key)
            raise ToolsRefused(f"{self.vendor} takes no tool calls for {self.model}, so they are made as text: {said}")
        return bool(blamed)

    @contextmanager
    def _translated(self, package: Any) -> Iterator[None]:
        """Raise our errors instead of those of the vendor's package and of the HTTP client below it."""
        import httpx2  # noqa: PLC0415 - loaded already by the package

        try:
            yield
        except package.APIStatusError as error:
            raise self._status_error(error) from error
        except package.APIConnectionError as error:
            raise ModelUnavailable(self._broken_off(error.__cause__ or error)) from error
        except package.APIError as error:
            raise self._event_error(error) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ModelUnavailable(self._broken_off(error)) from error
        except (ValueError, TypeError, AttributeError) as error:
            # The packages build their objects without validation: a server that is not what it says shows up as these.
            detail = f"{type(error).__name__}: {quote(error, self._key)}"
            raise ModelUnavailable(
                f"{self.vendor} at {self._base_url} does not speak its own format ({detail})"
            ) from error

    def _broken_off(self, error: BaseException) -> str:
        detail = quote(error, self._key) or type(error).__name__
        return f"{self.vendor} at {self._base_url}: the connection failed or the answer broke off ({detail})"

    def _cut_off(self, stream: Any) -> ModelUnavailable:
        """A stream that ended without its final event: cut, or never one."""
        detail = quote(beginning(stream.response), self._key)
        if detail:
            return ModelUnavailable(f"{self.vendor} at {self._base_url} answered no stream of events, but: {detail}")
        return ModelUnavailable(self._broken_off(EOFError("the stream ended without its final event")))

    def _status_error(self, error: Any) -> ModelError:
        if 300 <= error.status_code < 400:
            return ModelUnavailable(self._elsewhere(error.response))
        if error.status_code < 400:
            return self._event_error(error)
        fix = f"Check the key, the model ({self.model}) and the address ({self._base_url})"
        detail = quote(error.message, self._key)
        return from_status(self.vendor, error.status_code, error.response.headers, detail, fix=fix)

    def _elsewhere(self, response: Any) -> str:
        there = quote(response.headers.get("location", "nowhere"), self._key)
        fix = "where that is the right address, set it; where it is a login page, log in"
        return f"{self.vendor} at {self._base_url} answered {response.status_code} and points to {there}: {fix}"

    def _event_error(self, error: Any) -> ModelError:
        """The error that a stream ended with."""
        detail = f"{self.vendor} broke off: {quote(error.message, self._key)}"
        kind = getattr(error, "type", None)
        return ModelUnavailable(detail) if kind in _PASSING or kind is None else ModelRefused(detail)

    def _check_listing(self, probe: Probe, names: list[str], key_name: str) -> bool:
        """Whether the server's list of models makes it usable; `detail` then says what the owner can do."""
        self._offered = tuple(names)
        if probe.status in {401, 403}:
            self._detail = f"{self.vendor} does not accept the key: set {key_name} to a valid one"
        elif probe.is_unusable:
            self._detail = f"{self.vendor} at {self._base_url} {probe.fault}"
        elif not self._model:
            offered = f"offers {', '.join(names[:5])}" if names else "offers no model"
            self._detail = f"{self.vendor} at {self._base_url} {offered}: set MODEL_NAME"
        else:
            self._detail = ""
        return not self._detail


def _tools_blamed(status: int, message: str) -> bool:
    """Whether a refusal is about the tools as such; OpenRouter says so with 404, older llama.cpp with 500."""
    if not _ABOUT_TOOLS.search(message) or _TOO_LONG.search(message):
        return False
    return status in {400, 422} or (status in {404, 500, 501} and bool(_NOT_THERE.search(message)))
