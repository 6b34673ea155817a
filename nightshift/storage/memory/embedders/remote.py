"""Embedders at a network address: OpenAI, Ollama, and any other server with OpenAI's `/v1/embeddings`.

Texts are sent only to the address that the owner has set: no redirect is followed, and an address of this machine is
never reached through a proxy. Each answer has a time limit and a size limit.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nightshift.core.text.masking import printable
from nightshift.storage.memory.embedders.base import MAX_CHARS, EmbedderMissing, floor_of, scale

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors


UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""Headers that ask for uncompressed answers, so that the number of received bytes equals the memory that they need."""
PASSING = frozenset({408, 409, 425, 429})
MAX_DIMS = 8192
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of requests.

    A call may take `tries` times `whole_s`, plus the pauses (`rest_s`) between the tries.
    """

    connect_s: float = 5.0
    whole_s: float = 30.0
    tries: int = 2
    rest_s: float = 0.5
    batch: int = 32
    max_bytes: int = 16 << 20


class Passing(EmbedderMissing):
    """The endpoint cannot be reached or is busy; a retry may help."""


OFFICIAL = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-small"
OLLAMA_MODEL = "nomic-embed-text"


class OpenAIEmbedder:
    """OpenAI's embeddings.

    Args:
        model: the model's name at that address.
        base_url: the address including `/v1`; OpenAI's own by default.
        api_key: the key; the owner's own servers often need none.
        limits: limits of requests.
    """

    vendor = "openai"

    def __init__(
        self, *, model: str, base_url: str | None = None, api_key: str | None = None, limits: Limits | None = None
    ) -> None:
        self.model, self.base_url, self.limits = model, (base_url or OFFICIAL).rstrip("/"), limits or Limits()
        self._key = api_key
        self._dims, self._floor = 0, 1.0

    @property
    def name(self) -> str:
        """Name of the vector space: the vendor, the model and, after the first answer, the length of the vectors."""
        return ":".join((self.vendor, self.model, *([str(self._dims)] if self._dims else [])))

    @property
    def dims(self) -> int:
        """Number of elements of a vector; 0 before `load`."""
        return self._dims

    @property
    def floor(self) -> float:
        """See `Embedder.floor`; measured by `load`."""
        return self._floor

    def load(self) -> None:
        """Check whether the endpoint answers, and measure the length and the floor of its vectors.

        Without a key, no request is sent to OpenAI itself.

        Raises:
            EmbedderMissing: the endpoint does not answer, or refuses.
        """
        if self.base_url == OFFICIAL and not self._key:
            raise EmbedderMissing("openai needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without one")
        self._dims = 0
        rows = self._rows(["?"])
        self._dims = len(rows[0])
        self._floor = floor_of(self.embed)

    def close(self) -> None:
        """See `Loadable.close`; no connection is kept open."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector for each text. `load` must be called first."""
        if not self._dims:
            raise EmbedderMissing(f"{self.name} is not loaded")
        size = self.limits.batch
        return [row for at in range(0, len(texts), size) for row in self._rows(texts[at : at + size])]

    def ask(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Send one request, without retries.

        Raises:
            Passing: a retry may help.
            EmbedderMissing: a retry will not help.
        """
        client = self._client
        import openai  # noqa: PLC0415  loaded by `_client`

        try:
            # By default the package asks for base64, which servers similar to OpenAI often do not support.
            answer = client.embeddings.create(model=self.model, input=list(texts), encoding_format="float")
            return [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]
        except openai.APIStatusError as error:
            raise self._make_refusal(error.status_code, error.message) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            detail = printable(str(cause), max_chars=200) or type(cause).__name__
            raise Passing(f"{self.vendor} at {self.base_url} cannot be reached ({detail})") from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError):
            raise EmbedderMissing(f"{self.vendor} at {self.base_url} does not speak OpenAI's format") from None

    def _rows(self, texts: Sequence[str]) -> Vectors:
        # Endpoints refuse empty texts.
        cut = [text[:MAX_CHARS] or " " for text in texts]
        for again in range(1, self.limits.tries):
            try:
                return self._check(self.ask(cut), len(cut))
            except Passing:
                time.sleep(self.limits.rest_s * again)
        return self._check(self.ask(cut), len(cut))

    def _check(self, numbers: Sequence[Sequence[float]], count: int) -> Vectors:
        try:
            rows = [array("f", row) for row in numbers]
            [dims] = {len(row) for row in rows}
        except (TypeError, ValueError, OverflowError):
            raise EmbedderMissing(f"{self.vendor} at {self.base_url} returns something else than vectors") from None
        if len(rows) != count or not 0 < dims <= MAX_DIMS:
            raise EmbedderMissing(
                f"{self.vendor} at {self.base_url} returns {len(rows)}×{dims} numbers for {count} texts"
            )
        if self._dims not in (0, dims):
            raise EmbedderMissing(
                f"{self.name} now returns vectors of {dims} numbers: another model has that name; restart"
            )
        if not all(math.isfinite(number) for row in rows for number in row):
            raise EmbedderMissing(f"{self.name} returns vectors that are not numbers")
        return [scale(row) for row in rows]

    @cached_property
    def _client(self) -> Any:
        # The package uses `httpx` if it is in `sys.modules`. If another thread is just importing it, the entry may be
        # half loaded, so the import is completed first.
        with suppress(ImportError):
            import httpx  # noqa: F401, PLC0415
        try:
            import httpx2  # noqa: PLC0415  a fraction of a second
            import openai  # noqa: PLC0415
        except ImportError as error:
            raise EmbedderMissing(f"the package openai is not installed ({error}); `make run` installs it") from None
        http = openai.DefaultHttpxClient(
            # No connection is kept open, because it is unknown when the last text has been embedded.
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(self.limits.whole_s, connect=self.limits.connect_s),
            trust_env=urlsplit(self.base_url).hostname not in _LOOPBACK,
            follow_redirects=False,
            headers=UNCOMPRESSED,
            event_hooks={"response": [_limit(httpx2, self.limits)]},
        )
        return openai.OpenAI(api_key=self._key or "none", base_url=self.base_url, max_retries=0, http_client=http)

    def _make_refusal(self, status: int, text: str) -> EmbedderMissing:
        """Return the error for an HTTP status. The server's message is shown, except in errors about keys."""
        detail = "" if status in (401, 403) else f": {printable(text, max_chars=200)}"
        message = f"{self.vendor} at {self.base_url} answered {status}{detail}; {self._describe_remedy(status)}"
        return Passing(message) if status in PASSING or status >= 500 else EmbedderMissing(message)

    def _describe_remedy(self, status: int) -> str:
        if status in (401, 403):
            return "check OPENAI_API_KEY"
        return f"check EMBEDDER_MODEL ({self.model}) and OPENAI_BASE_URL"


class OllamaEmbedder(OpenAIEmbedder):
    """Ollama's embeddings. The server truncates texts that are longer than the model's context."""

    vendor = "ollama"

    def __init__(self, *, model: str, base_url: str, limits: Limits | None = None) -> None:
        super().__init__(model=model, base_url=f"{base_url.rstrip('/')}/v1", limits=limits)

    def _describe_remedy(self, status: int) -> str:  # noqa: ARG002  as above
        return f"run `ollama pull {self.model}`"


def _limit(package: Any, limits: Limits) -> Callable[[Any], None]:
    """Return a hook that aborts an answer beyond its limits; the package's own timeout restarts with each byte."""

    class Limited(package.SyncByteStream):  # type: ignore[misc]  # known at run time only
        def __init__(self, inner: Any) -> None:
            self.inner, self.end_s = inner, time.monotonic() + limits.whole_s

        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for part in self.inner:
                read += len(part)
                if read > limits.max_bytes:
                    raise package.RemoteProtocolError(f"the answer is longer than {limits.max_bytes:,} bytes")
                if time.monotonic() > self.end_s:
                    raise package.ReadTimeout(f"the answer takes longer than {limits.whole_s} s")
                yield part

        def close(self) -> None:
            self.inner.close()

    def hook(response: Any) -> None:
        response.stream = Limited(response.stream)

    return hook
