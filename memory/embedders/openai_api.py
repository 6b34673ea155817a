"""Vectors by OpenAI, or by any server that speaks its `/v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from memory.embedders.base import EmbedderMissing
from memory.embedders.remote import Limits, RemoteEmbedder

OFFICIAL = "https://api.openai.com/v1"
DEFAULT = "text-embedding-3-small"


class OpenAIEmbedder(RemoteEmbedder):
    """OpenAI's embeddings.

    Args:
        model: the model's name.
        base_url: the address, with its `/v1`; OpenAI's own by default.
        api_key: servers of one's own often want none.
        limits: how patiently it is asked.
    """

    vendor = "openai"

    def __init__(
        self, *, model: str, base_url: str | None = None, api_key: str | None = None, limits: Limits | None = None
    ) -> None:
        super().__init__(model=model, base_url=base_url or OFFICIAL, limits=limits)
        self._key = api_key

    def load(self) -> None:
        """See `RemoteEmbedder.load`; without a key OpenAI itself is not even asked."""
        if self.base_url == OFFICIAL and not self._key:
            raise EmbedderMissing("openai wants a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without one")
        super().load()

    def ask(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """See `RemoteEmbedder.ask`."""
        client = self._client
        import openai  # noqa: PLC0415  loaded by `_client`

        try:
            # The package asks for base64 unless told otherwise, which servers that resemble OpenAI often do not know.
            answer = client.embeddings.create(model=self.model, input=list(texts), encoding_format="float")
            return [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]
        except openai.APIStatusError as error:
            raise self.refused(error.status_code, error.message, mend=self._mend(error.status_code)) from None
        except openai.APIConnectionError as error:
            raise self.unreached(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError):
            raise EmbedderMissing(f"openai at {self.base_url} does not speak OpenAI's format") from None

    def _mend(self, status: int) -> str:
        if status in (401, 403):
            return "check OPENAI_API_KEY"
        return f"check EMBEDDER_MODEL ({self.model}) and OPENAI_BASE_URL"

    @cached_property
    def _client(self) -> Any:
        # The package looks at `httpx` once it is in `sys.modules`, where another thread's import puts half of it.
        with suppress(ImportError):
            import httpx  # noqa: F401, PLC0415
        try:
            import httpx2  # noqa: PLC0415  a fraction of a second
            import openai  # noqa: PLC0415
        except ImportError as error:
            raise EmbedderMissing(f"the package openai is not installed ({error}); `make run` installs it") from None
        http = openai.DefaultHttpxClient(**self.http_options(httpx2))
        return openai.OpenAI(api_key=self._key or "none", base_url=self.base_url, max_retries=0, http_client=http)
