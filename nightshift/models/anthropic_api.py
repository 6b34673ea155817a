"""Anthropic's messages API.

The backend marks stable text for the prompt cache: always the system prompt, and in requests with tools also the last
tool definition and the last user messages. The next request starts with the same text, so it reads that text from the
cache and pays for writing only its new part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from nightshift.core.dialogue import ModelRequest, Thinking
from nightshift.models.vendor import VendorBackend

if TYPE_CHECKING:
    from pydantic_ai.models import Model

API_VERSION = "2026-10-21"
LEAST_BUDGET = 1024
"""The smallest budget for thinking that the API accepts, in tokens. Thinking counts as part of the reply."""
USUAL_REPLY = 8192
"""The default limit of a reply, in tokens. It is needed because the API requires a limit with every request."""
SHARES = {Thinking.LOW: 0.25, Thinking.MEDIUM: 0.5, Thinking.HIGH: 0.75}


class AnthropicBackend(VendorBackend):
    """A backend for the messages API, with streaming."""

    name = "anthropic"
    vendor = "Anthropic"
    official = "https://api.anthropic.com"
    paths = re.compile(r"/v1(/(messages|models))?/?$")
    listing = "/v1/models?limit=100"
    rank = "created_at"
    preferred = (r"sonnet", r"opus", r"haiku")
    setup = "set ANTHROPIC_API_KEY"
    ids: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9_-]{1,64}")

    @property
    def _headers(self) -> Mapping[str, str]:
        """The HTTP headers of a request; the vendor's own package sends the same ones."""
        return {**super()._headers, "x-api-key": self._key or "", "anthropic-version": API_VERSION}

    def _new_api(self, http: Any) -> Model[Any]:
        import anthropic  # noqa: PLC0415 - heavy; only needed once this model is asked
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

        client = anthropic.AsyncAnthropic(
            api_key=self._key or "none", base_url=self._base_url, max_retries=0, http_client=http, open_telemetry=False
        )
        return AnthropicModel(self.model, provider=AnthropicProvider(anthropic_client=client))

    def _takes_temperature(self) -> bool:
        return not self._profile("anthropic_disallows_sampling_settings") and super()._takes_temperature()

    def _settings(self, request: ModelRequest) -> dict[str, Any]:
        thinks = request.thinking not in {None, Thinking.OFF} and self._thinking(request) is not None
        # With thinking, the API accepts only the temperature 1, its default. Without thinking, it accepts at most 1.
        heat = None if thinks or not self._takes_temperature() else request.temperature
        limit = request.max_tokens or USUAL_REPLY
        share = SHARES.get(request.thinking or Thinking.OFF, 0.0)
        by_budget = thinks and not self._profile("anthropic_supports_adaptive_thinking")
        budget = {"type": "enabled", "budget_tokens": int(limit * share)} if limit * share >= LEAST_BUDGET else None
        return {
            "max_tokens": limit,
            **({"anthropic_thinking": budget, "thinking": None} if by_budget else {}),
            "temperature": None if heat is None else min(heat, 1.0),
            "anthropic_cache_instructions": True,
            **({"anthropic_cache_tool_definitions": True, "anthropic_cache_messages": True} if request.tools else {}),
        }
