"""The program that computes vectors with a sentence-transformer. `transformer.py` starts it and communicates with it.

Each request on standard input is a length (4 bytes, big-endian) and a JSON list of texts. Each answer on standard
output is a length, a JSON header (`{"rows": n, "dims": d}`), and the vectors as float32. The first header comes without
vectors and shows that the model is loaded; if loading failed, it has the reason in `error` or `missing`. The program
ends when its input ends, so it does not outlive its parent process.

This file runs as a separate program in Python's isolated mode (`-I`) and imports nothing of Nightshift.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import struct
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH = 32
NICE = 10


def main(source: str, *, fetch: bool, max_tokens: int | None) -> None:
    """Load the model and answer requests. Only the first `max_tokens` tokens of a text are used."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's prints must not mix with answers
    os.nice(NICE)
    try:
        model = load(source, fetch=fetch)
    except ImportError as error:
        answer(out, {"error": f"sentence-transformers cannot be imported ({error})"})
        return
    except (OSError, ValueError, RuntimeError) as error:
        answer(out, {"missing": (str(error).splitlines() or [type(error).__name__])[0][:200]})
        return
    if max_tokens:
        model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
    answer(out, {"rows": 0, "dims": model.get_sentence_embedding_dimension()})
    while texts := question():
        rows = model.encode(texts, batch_size=BATCH, convert_to_tensor=True, show_progress_bar=False).float()
        vectors = rows / rows.norm(dim=1, keepdim=True)
        answer(out, {"rows": rows.shape[0], "dims": rows.shape[1]}, vectors.numpy().tobytes())


def load(source: str, *, fetch: bool) -> SentenceTransformer:
    """Load the model from this machine. If it is missing and may be fetched, download it from the Hugging Face hub."""
    import torch  # noqa: PLC0415  its absence is an answer
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415  as above
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415  as above

    disable_progress_bar()  # type: ignore[no-untyped-call]  # the package types little
    torch.set_num_threads(1)  # the workers need the cores; one thread embeds a text in ten milliseconds
    form: dict[str, object] = {}
    if multiplies_bfloat16():  # the model's own implementation of attention is slow for short texts
        form = {"dtype": torch.bfloat16, "attn_implementation": "eager"}
    try:
        return SentenceTransformer(source, device="cpu", local_files_only=True, model_kwargs=form)
    except (OSError, ValueError, RuntimeError):
        if not fetch:
            raise
    return SentenceTransformer(source, device="cpu", model_kwargs=form)


def multiplies_bfloat16() -> bool:
    """Check whether the processor can multiply numbers in bfloat16.

    Multiplying in bfloat16 halves the time for long texts, and turns vectors by 2 degrees. That is far less than the
    angle between two errors with the same cause, so vectors with and without bfloat16 are comparable.
    """
    import torch  # noqa: PLC0415  as above

    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))


def question() -> list[str] | None:
    """Return the next texts, or None at the end of the input."""
    head = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0])) if len(head) == 4 else None


def answer(out: IO[bytes], head: Mapping[str, object], vectors: bytes = b"") -> None:
    """Write an answer. It does not matter if nobody is left to read it."""
    text = json.dumps(head).encode()
    with contextlib.suppress(BrokenPipeError):
        out.write(struct.pack(">I", len(text)) + text + vectors)
        out.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--max-tokens", type=int)
    main(**vars(parser.parse_args()))
