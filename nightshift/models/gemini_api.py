"""Gemini through Google's own API. The signatures of thoughts are sent back together with the calls they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nightshift.models.vendor import VendorBackend

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class GeminiBackend(VendorBackend):
    """Gemini's content generation, with streaming."""

    name = "gemini"
    vendor = "Gemini"
    official = "https://generativelanguage.googleapis.com"
    paths = re.compile(r"/v1(beta|alpha)?(/models)?/?$")
    listing = "/v1beta/models?pageSize=1000"
    rank = "name"
    preferred = (r"^gemini-[\d.]+-flash(?!-lite)", r"^gemini-[\d.]+-pro", r"^gemini-")
    setup = "set GEMINI_API_KEY"

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"x-goog-api-key": quote(self._key or "")}

    def _new_api(self, http: Any) -> Model[Any]:
        from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - heavy; only needed once this is asked
        from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

        provider = GoogleProvider(api_key=self._key or "none", http_client=http, base_url=self._base_url)
        return GoogleModel(self.model, provider=provider)
