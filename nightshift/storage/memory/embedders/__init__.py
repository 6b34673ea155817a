"""Embedders turn texts into vectors: by hashing, which needs nothing else, by a local model, or by an endpoint.

`choose` maps the names in the settings to embedders. All other code uses only the protocol in `base`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    "MAKERS",
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


Maker = Callable[[str | None, Endpoints, Provisioning], Loadable | None]
"""Creates an embedder from the name of its model. Returns None if only hashing is used."""


def _none(model: str | None, endpoints: Endpoints, provisioning: Provisioning) -> None:  # noqa: ARG001  all are given it
    return None


def _sentence(model: str | None, endpoints: Endpoints, provisioning: Provisioning) -> Loadable:  # noqa: ARG001  as above
    return SentenceTransformerEmbedder(model or find_packaged_model() or MODEL, provisioning=provisioning)


def _ollama(model: str | None, endpoints: Endpoints, provisioning: Provisioning) -> Loadable:  # noqa: ARG001  as above
    return OllamaEmbedder(model=model or OLLAMA_MODEL, base_url=endpoints.ollama_base_url)


def _openai(model: str | None, endpoints: Endpoints, provisioning: Provisioning) -> Loadable:  # noqa: ARG001  as above
    return OpenAIEmbedder(
        model=model or OPENAI_MODEL, base_url=endpoints.openai_base_url, api_key=endpoints.openai_api_key
    )


# The setting `auto` never sends a text to another machine.
MAKERS: Mapping[str, Maker] = {
    "auto": _sentence,
    "hashed": _none,
    "sentence-transformers": _sentence,
    "ollama": _ollama,
    "openai": _openai,
}


def choose(
    name: str, model: str | None = None, endpoints: Endpoints | None = None, provisioning: Provisioning | None = None
) -> Choice:
    """Choose the embedders by the name in the settings. Nothing is loaded yet.

    Args:
        name: one of `MAKERS`.
        model: the model's name for that embedder. For a sentence-transformer, it is a folder, or a name in the Hugging
            Face cache.
        endpoints: addresses of the model servers.
        provisioning: how packages and models are installed on this machine.

    Raises:
        ValueError: the name is not in `MAKERS`.
    """
    if name not in MAKERS:
        raise ValueError(f"there is no embedder {name!r}; known are {', '.join(MAKERS)}")
    hashed = HashedEmbedder()
    embedder = MAKERS[name](model, endpoints or Endpoints(), provisioning or Provisioning())
    if embedder is None:
        return Choice(ready=hashed, better=None, why="hashed n-grams, as the settings say")
    better = BlendedEmbedder(embedder)
    return Choice(ready=hashed, better=better, why=f"hashed n-grams until {better.name} is loaded on first use")
