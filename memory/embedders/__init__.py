"""Texts become vectors: by hashing, which needs nothing, by a model on this machine, or by an endpoint's.

`choosing` knows all of them by name; everything else sees the port in `base` only.
"""

from memory.embedders.base import Embedder, EmbedderMissing, Loadable
from memory.embedders.choosing import MAKERS, Choice, Endpoints, choose
from memory.embedders.hashed import HashedEmbedder
from memory.embedders.sentence import SentenceTransformerEmbedder, packaged_model

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
