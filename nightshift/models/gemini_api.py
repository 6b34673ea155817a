"""Gemini, by Google's own API; signatures of thoughts go back with the calls that they belong to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from nightshift.models.base import BackendSettings
from nightshift.models.http_access import fetch_json
from nightshift.models.vendor import VendorBackend

if TYPE_CHECKING:
    from pydantic_ai.models import Model

OFFICIAL = "https://generativelanguage.googleapis.com"
PREFERRED = (r"^gemini-[\d.]+-flash(?!-lite)", r"^gemini-[\d.]+-pro", r"^gemini-")


class GeminiBackend(VendorBackend):
    """Generated content, streamed."""

    name = "gemini"
    vendor = "Gemini"
    paths = re.compile(r"/v1(beta|alpha)?(/models)?/?$")
    setup = "set GEMINI_API_KEY"

    def __init__(self, *, model: str | None, api_key: str | None, base_url: str, connect_s: float = 5.0) -> None:
        super().__init__(model=model, api_key=api_key, base_url=base_url, connect_s=connect_s)
        self._windows = dict[str, int]()

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Needs a key."""
        if not settings.gemini_api_key:
            return None
        base_url = settings.gemini_base_url or OFFICIAL
        return cls(model=model, api_key=settings.gemini_api_key, base_url=base_url, connect_s=settings.connect_s)

    def is_available(self) -> bool:
        """Ask for the list of models: it shows that the server is there and takes the key."""
        if not self._has_usable_key():
            return False
        probe = fetch_json(f"{self._base_url}/v1beta/models?pageSize=1000", {"x-goog-api-key": quote(self._key or "")})
        rows = {str(row.get("name", "")).removeprefix("models/"): row for row in probe.rows("models")}
        names = sorted((name for name in rows if name), reverse=True)
        self._windows |= {
            name: size for name, row in rows.items() if isinstance(size := row.get("inputTokenLimit"), int)
        }
        return self._check_listing(probe, names, PREFERRED)

    @property
    def window(self) -> int | None:
        """The window that the server lists of the model."""
        return self._windows.get(self.model)

    def _new_api(self, http: Any) -> Model[Any]:
        from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - heavy; only needed once this is asked
        from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

        provider = GoogleProvider(api_key=self._key or "none", http_client=http, base_url=self._base_url)
        return GoogleModel(self.model, provider=provider)
