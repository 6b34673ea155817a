"""Anthropic's messages API.

What stays the same is marked for the prompt cache: the system prompt always, and where tools are called also the last
of them and the last turns of the user's. The next request, which has this one as its beginning, then reads what this
one wrote, and writes what is new.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nightshift.core.dialogue import ModelRequest, Thinking
from nightshift.models.base import BackendSettings
from nightshift.models.http_access import fetch_json
from nightshift.models.vendor import VendorBackend
from nightshift.models.windows import window_by_name

if TYPE_CHECKING:
    from pydantic_ai.models import Model

OFFICIAL = "https://api.anthropic.com"
API_VERSION = "2026-10-21"
LEAST_BUDGET = 1024
"""Tokens; the API takes no smaller budget for thinking, which is a part of the reply."""
SHARES = {Thinking.LOW: 0.25, Thinking.MEDIUM: 0.5, Thinking.HIGH: 0.75}
PREFERRED = (r"sonnet", r"opus", r"haiku")


class AnthropicBackend(VendorBackend):
    """Messages, streamed."""

    name = "anthropic"
    vendor = "Anthropic"
    paths = re.compile(r"/v1(/(messages|models))?/?$")
    setup = "set ANTHROPIC_API_KEY"
    ids: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9_-]{1,64}")

    def __init__(
        self, *, model: str | None, api_key: str | None, base_url: str, connect_s: float = 5.0, max_tokens: int = 8192
    ) -> None:
        super().__init__(model=model, api_key=api_key, base_url=base_url, connect_s=connect_s)
        self._max_tokens = max_tokens

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Needs a key."""
        if not settings.anthropic_api_key:
            return None
        return cls(
            model=model,
            api_key=settings.anthropic_api_key,
            base_url=settings.anthropic_base_url or OFFICIAL,
            connect_s=settings.connect_s,
            max_tokens=settings.max_tokens,
        )

    def is_available(self) -> bool:
        """Ask for the list of models: it shows that the server is there and takes the key."""
        if not self._has_usable_key():
            return False
        # The same headers as those of the vendor's package.
        head = {"Authorization": f"Bearer {self._key}", "x-api-key": self._key or "", "anthropic-version": API_VERSION}
        probe = fetch_json(f"{self._base_url}/v1/models?limit=100", head)
        names = [str(row["id"]) for row in probe.rows("data") if row.get("id")]
        return self._check_listing(probe, names, PREFERRED)

    @property
    def window(self) -> int | None:
        """What is known of the model's name."""
        return window_by_name(self.model)

    def _new_api(self, http: Any) -> Model[Any]:
        import anthropic  # noqa: PLC0415 - heavy; only needed once this model is asked
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

        client = anthropic.AsyncAnthropic(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            http_client=http,
            open_telemetry=False,
        )
        return AnthropicModel(self.model, provider=AnthropicProvider(anthropic_client=client))

    def _takes_temperature(self) -> bool:
        return not self._profile("anthropic_disallows_sampling_settings") and super()._takes_temperature()

    def _settings(self, request: ModelRequest) -> dict[str, Any]:
        thinks = request.thinking not in {None, Thinking.OFF} and self._thinking(request) is not None
        # The API takes no other temperature than 1 from a model that thinks, and never a higher one.
        heat = None if thinks or not self._takes_temperature() else request.temperature
        limit = request.max_tokens or self._max_tokens
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
