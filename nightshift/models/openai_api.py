"""OpenAI, and every server with its chat completions or Responses API: vLLM, llama.cpp, LM Studio and OpenRouter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from nightshift.core.dialogue import ModelRequest, Thinking
from nightshift.core.tools import ToolProtocol
from nightshift.models.http_access import Probe, fetch_json
from nightshift.models.model_table import (
    family_of,
    read_started_window,
    read_trained_window,
    read_window,
)
from nightshift.models.vendor import VendorBackend

if TYPE_CHECKING:
    from pydantic_ai.models import Model

OFFICIAL = "https://api.openai.com/v1"
NEVER = "\x00"
"""A tag that no model writes. It disables the library's own search for thoughts between tags, since `thought_tags`
knows more tags and removes the thoughts.
"""


class OpenAIBackend(VendorBackend):
    """A backend for chat completions or the Responses API, with streaming.

    Args:
        api: `chat`, `responses`, or `auto` (Responses at OpenAI's own address, chat elsewhere).
        more: see `VendorBackend`.
    """

    name = "openai"
    vendor = "OpenAI"
    official = OFFICIAL
    needs_key = False
    paths = re.compile(r"/(chat/completions|completions|responses|models)/?$")
    listing = "/models"
    rank = "created"
    preferred = (r"^gpt-[\d.]+-mini(-|$)", r"^gpt-[\d.]+(-|$)", r"^gpt-4o")
    options: ClassVar[Mapping[str, str]] = {"api": "openai_api"}
    setup = "set OPENAI_API_KEY, or OPENAI_BASE_URL for any server that speaks OpenAI's API"

    def __init__(self, *, api: str = "auto", **more: Any) -> None:
        super().__init__(**more)
        self._api_kind = api
        self._started_windows = dict[str, int]()
        self._is_ollama = False

    @property
    def _is_responses(self) -> bool:
        return self._api_kind == "responses" or (self._api_kind == "auto" and self._base_url == OFFICIAL)

    def is_available(self) -> bool:
        """See `VendorBackend.is_available`. A llama.cpp server is also asked for its context window.

        If the address lacks its scheme or `/v1`, it is tried with them. The form that works is used from then on.
        """
        is_usable = super().is_available()
        if not read_window(self._row) and (trained := read_trained_window(self._row)):
            if self.model not in self._started_windows:
                started = read_started_window(fetch_json(f"{self._root}/props", {}).data)
                self._started_windows[self.model] = started or trained
            self._row = {**self._row, "context_length": self._started_windows[self.model]}
        return is_usable

    def _read_listing(self, probe: Probe) -> dict[str, Mapping[str, Any]]:
        rows = super()._read_listing(probe)
        if not self._is_ollama and any(row.get("owned_by") == "library" for row in rows.values()):
            self._is_ollama = fetch_json(f"{self._root}/api/version", {}).status == 200
            if self._is_ollama:  # its own parser of calls fails with many models
                self.protocols = tuple(sorted(self.protocols, key=lambda each: each is not ToolProtocol.TEXT))
        return rows

    def _fetch_listing(self) -> Probe:
        """Fetch the list of models from the first form of the address that serves one.

        If no form does, return the answer of the first form.
        """
        probes = list[Probe]()
        for address in self._forms():
            probe = fetch_json(f"{address}{self.listing}", self._headers)
            if probe.status == 200 and isinstance(probe.data, Mapping) and isinstance(probe.data.get("data"), list):
                if address != self._base_url:
                    self._base_url, self._api, self._http = address, None, None
                return probe
            probes.append(probe)
        return probes[0]

    def _forms(self) -> dict[str, None]:
        """List the possible forms of the address, likely ones first."""
        address = self._base_url
        # A key is never sent over plain HTTP unless the owner wrote that address.
        unsafe = [address.replace("https://", "http://")] if "://" not in self._given and not self._key else []
        versions = ("",) if re.search(r"/v\d[\w.]*(/|$)", address) else ("", "/v1", "/api/v1")
        return dict.fromkeys(f"{scheme}{version}" for scheme in (address, *unsafe) for version in versions)

    @property
    def advice(self) -> str:
        """The correct form of the address, if it differs from the owner's setting.

        If Ollama runs at the address, this is advice to use Ollama's own API, because Ollama otherwise truncates long
        prompts.
        """
        if not self._is_ollama:
            return super().advice
        use = f"set MODEL_TYPE=ollama and OLLAMA_BASE_URL={self._root}"
        return f"this server is Ollama, which silently cuts long prompts if they are sent with OpenAI's API: {use}"

    @property
    def _root(self) -> str:
        return self._base_url.removesuffix("/v1")

    def _new_api(self, http: Any) -> Model[Any]:
        import openai  # noqa: PLC0415 - heavy; only needed once this model is asked
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel  # noqa: PLC0415
        from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
        from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

        backend = self

        class Client(openai.AsyncOpenAI):
            """The vendor's client, which omits fields that the server is known to refuse."""

            async def _prepare_options(self, options: Any) -> Any:
                body = options.json_data
                if isinstance(body, dict):
                    options.json_data = backend.leave_out_unknown(body)
                return options

        client = Client(api_key=self._key or "none", base_url=self._base_url, max_retries=0, http_client=http)
        profile = OpenAIModelProfile(
            thinking_tags=(NEVER, NEVER),
            ignore_streamed_leading_whitespace=False,
            openai_chat_supports_max_completion_tokens=self._base_url == OFFICIAL,
        )
        provider = OpenAIProvider(openai_client=client)
        kind = OpenAIResponsesModel if self._is_responses else OpenAIChatModel
        return kind(self.model, provider=provider, profile=profile)

    def leave_out_unknown(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a request without fields that the server is known to refuse."""
        lacks = self.facts.lacks | ({"stream_options"} if "stream" in self.facts.lacks else set())
        body = {name: value for name, value in body.items() if name not in lacks}
        if name := self.facts.limit_name:
            limits = [body.pop(each) for each in ("max_tokens", "max_completion_tokens") if each in body]
            body |= {name: min(limits)} if limits else {}
        return body

    def _takes_temperature(self) -> bool:
        # OpenAI's own reasoning models accept no temperature.
        return not self._profile("openai_supports_reasoning") and super()._takes_temperature()

    def _settings(self, request: ModelRequest) -> dict[str, Any]:
        body = self._body(request)
        return {"openai_store": False if self._is_responses else None, "extra_body": body or None}

    def _thinking(self, request: ModelRequest) -> Thinking | None:
        return request.thinking if self._profile("openai_supports_reasoning") else None

    def _body(self, request: ModelRequest) -> Mapping[str, Any]:
        as_json = {"type": "json_object"}
        form = {"text": {"format": as_json}} if self._is_responses else {"response_format": as_json}
        body = form if request.json_reply and "response_format" not in self.facts.lacks else {}
        own = self._profile("openai_supports_reasoning") or "thinking" in self.facts.lacks
        if request.thinking is None or own or not (family_of(self.model).thinks or "thinks" in self.facts.learnt):
            return body
        return {**body, **thinking_fields(self._base_url, self.model, request.thinking)}


def thinking_fields(address: str, model: str, thinking: Thinking) -> dict[str, Any]:
    """Return the fields that tell servers of open models how much to think; each server has its own fields."""
    is_off = thinking is Thinking.OFF
    if "gpt-oss" in model:  # gpt-oss always thinks
        return {"reasoning_effort": "low" if is_off else thinking.value}
    if "openrouter" in address:
        return {"reasoning": {"enabled": False} if is_off else {"effort": thinking.value}}
    if re.search(r"deepseek\.com|moonshot|z\.ai|bigmodel", address):
        return {"thinking": {"type": "disabled" if is_off else "enabled"}}
    switch = {"chat_template_kwargs": {"enable_thinking": not is_off}}
    return switch if is_off else {**switch, "reasoning_effort": thinking.value}
