"""Embedders turn texts into vectors: by hashing, which needs nothing else, by a local model, or by an endpoint.

`choose` maps the names in the settings to embedders. All other code uses only the protocol in `base`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nightshift.storage.memory.embedders.base import Embedder, EmbedderMissing, Loadable
from nightshift.storage.memory.embedders.local import BlendedEmbedder, HashedEmbedder
from nightshift.storage.memory.embedders.remote import OLLAMA_MODEL, OPENAI_MODEL, OllamaEmbedder, OpenAIEmbedder
from nightshift.storage.memory.embedders.transformer import (
    MODEL,
    Provisioning,
    SentenceTransformerEmbedder,
    find_packaged_model,
)

__all__ = [
    "Choice",
    "Embedder",
    "EmbedderMissing",
    "Endpoints",
    "HashedEmbedder",
    "Loadable",
    "Provisioning",
    "SentenceTransformerEmbedder",
    "choose",
    "find_packaged_model",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Addresses and key of the model servers. They are the same as those for writing code."""

    ollama_base_url: str = "http://localhost:11434"
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The embedders of a memory.

    Attributes:
        ready: the embedder that can be used at once.
        better: the embedder to use once it is loaded; None if there is none.
        why: an explanation of the choice for the owner.
    """

    ready: Embedder
    better: Loadable | None
    why: str


NAMES = ("auto", "hashed", "sentence-transformers", "ollama", "openai")
"""The names of embedders in the settings. `auto` never sends a text to another machine."""


def choose(
    name: str, model: str | None = None, endpoints: Endpoints | None = None, provisioning: Provisioning | None = None
) -> Choice:
    """Choose the embedders by the name in the settings. Nothing is loaded yet.

    Args:
        name: one of `NAMES`.
        model: the model's name for that embedder. For a sentence-transformer, it is a folder, or a name in the Hugging
            Face cache.
        endpoints: addresses of the model servers.
        provisioning: how packages and models are installed on this machine.

    Raises:
        ValueError: the name is not in `NAMES`.
    """
    if name not in NAMES:
        raise ValueError(f"there is no embedder {name!r}; known are {', '.join(NAMES)}")
    hashed, endpoints = HashedEmbedder(), endpoints or Endpoints()
    embedder: Loadable
    match name:
        case "hashed":
            return Choice(ready=hashed, better=None, why="hashed n-grams, as the settings say")
        case "ollama":
            embedder = OllamaEmbedder(model=model or OLLAMA_MODEL, base_url=endpoints.ollama_base_url)
        case "openai":
            embedder = OpenAIEmbedder(
                model=model or OPENAI_MODEL, base_url=endpoints.openai_base_url, api_key=endpoints.openai_api_key
            )
        case _:
            embedder = SentenceTransformerEmbedder(model or find_packaged_model() or MODEL, provisioning=provisioning)
    better = BlendedEmbedder(embedder)
    return Choice(ready=hashed, better=better, why=f"hashed n-grams until {better.name} is loaded on first use")
