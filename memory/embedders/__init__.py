"""Texts become vectors: by hashing, which needs nothing, by a model on this machine, or by an endpoint.

`choose` knows the embedders by the names of the settings; everything else sees the protocol in `base` only.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memory.embedders.base import Embedder, EmbedderMissing, Loadable
from memory.embedders.local import MODEL, BlendedEmbedder, HashedEmbedder, SentenceTransformerEmbedder, packaged_model
from memory.embedders.remote import OLLAMA_MODEL, OPENAI_MODEL, OllamaEmbedder, OpenAIEmbedder

__all__ = [
    "MAKERS",
    "Choice",
    "Embedder",
    "EmbedderMissing",
    "Endpoints",
    "HashedEmbedder",
    "Loadable",
    "SentenceTransformerEmbedder",
    "choose",
    "packaged_model",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where models answer; the same addresses and key as for writing code."""

    ollama_base_url: str = "http://localhost:11434"
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which embedders a memory uses: `ready` at once, `better` from when it is loaded. `why` is for the owner."""

    ready: Embedder
    better: Loadable | None
    why: str


Maker = Callable[[str | None, Endpoints], Loadable | None]
"""Makes an embedder, given its model's name; None means that hashing is all there is."""


def _none(model: str | None, endpoints: Endpoints) -> None:  # noqa: ARG001  every maker is given them
    return None


def _sentence(model: str | None, endpoints: Endpoints) -> Loadable | None:  # noqa: ARG001  as above
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    return SentenceTransformerEmbedder(model or packaged_model() or MODEL)


def _ollama(model: str | None, endpoints: Endpoints) -> Loadable:
    return OllamaEmbedder(model=model or OLLAMA_MODEL, base_url=endpoints.ollama_base_url)


def _openai(model: str | None, endpoints: Endpoints) -> Loadable:
    return OpenAIEmbedder(
        model=model or OPENAI_MODEL, base_url=endpoints.openai_base_url, api_key=endpoints.openai_api_key
    )


# `auto` never sends a text away from this machine.
MAKERS: Mapping[str, Maker] = {
    "auto": _sentence,
    "hashed": _none,
    "sentence-transformers": _sentence,
    "ollama": _ollama,
    "openai": _openai,
}


def choose(name: str, model: str | None = None, endpoints: Endpoints | None = None) -> Choice:
    """Pick the embedders by the setting's name; heavy packages are looked for, not imported.

    Args:
        name: one of `MAKERS`.
        model: the model's name there; for a sentence-transformer a folder, or its name in the Hugging Face cache.
        endpoints: where models answer.

    Raises:
        ValueError: the name is none of these.
    """
    if name not in MAKERS:
        raise ValueError(f"there is no embedder {name!r}; known are {', '.join(MAKERS)}")
    hashed, found = HashedEmbedder(), MAKERS[name](model, endpoints or Endpoints())
    better = BlendedEmbedder(found) if found else None
    if better is not None:
        why = f"hashed n-grams until {better.name} is loaded, when first needed"
    elif name == "hashed":
        why = "hashed n-grams, as the settings say"
    else:
        why = "hashed n-grams; sentence-transformers is not installed"
    return Choice(ready=hashed, better=better, why=why)
