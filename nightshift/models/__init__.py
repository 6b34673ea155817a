"""Backends for models, one vendor a module, and the registry that names them: a new one is a module and a line here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nightshift.core.built_in import BUILT_IN
from nightshift.core.errors import ConfigError

if TYPE_CHECKING:
    from nightshift.models.base import BaseModelHandler

BACKENDS: dict[str, str] = {
    "openai": "nightshift.models.openai_compat:OpenAIBackend",
    "anthropic": "nightshift.models.anthropic_api:AnthropicBackend",
    "acp": "nightshift.models.acp.backend:AcpBackend",
    "ollama": "nightshift.models.ollama_api:OllamaBackend",
    "gpt4all": "nightshift.models.gpt4all_local:GPT4AllBackend",
    "llama_cpp": "nightshift.models.llama_cpp:LlamaCppBackend",
    BUILT_IN: "nightshift_engine.backend:RepairBackend",
}
"""Short name to `module:Class`. The order is that of `MODEL_TYPE=auto`: those that answer best first.

The built-in engine is the last, since it can do the least; that it is asked before any other is decided by the gateway.
"""


def backend_class(name: str) -> type[BaseModelHandler]:
    """Import the class behind a short name.

    Raises:
        ConfigError: there is no backend of that name.
    """
    if name not in BACKENDS:
        raise ConfigError([f"model_type (MODEL_TYPE): unknown backend {name!r}; known are auto, {', '.join(BACKENDS)}"])
    module, _, attribute = BACKENDS[name].partition(":")
    found: type[BaseModelHandler] = getattr(importlib.import_module(module), attribute)
    return found
