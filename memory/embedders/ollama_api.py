"""Vectors by a model of Ollama's, through `/api/embed`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from memory.embedders.base import EmbedderMissing
from memory.embedders.remote import RemoteEmbedder

DEFAULT = "nomic-embed-text"


class OllamaEmbedder(RemoteEmbedder):
    """Ollama's embeddings; texts longer than the model's context are cut by the server."""

    vendor = "ollama"

    def ask(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """See `RemoteEmbedder.ask`."""
        client = self._client
        import httpx  # noqa: PLC0415  loaded by `_client`
        import ollama  # noqa: PLC0415

        try:
            return client.embed(model=self.model, input=list(texts), truncate=True).embeddings  # type: ignore[no-any-return]
        except ollama.ResponseError as error:
            raise self.refused(error.status_code, error.error, mend=f"run `ollama pull {self.model}`") from None
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            raise self.unreached(error) from None
        except (ValueError, TypeError, AttributeError):
            raise EmbedderMissing(f"ollama at {self.base_url} does not speak Ollama's own format") from None

    @cached_property
    def _client(self) -> Any:
        try:
            import httpx  # noqa: PLC0415  a fraction of a second
            import ollama  # noqa: PLC0415
        except ImportError as error:
            raise EmbedderMissing(f"the package ollama is not installed ({error}); `make run` installs it") from None
        return ollama.Client(host=self.base_url, **self.http_options(httpx))
