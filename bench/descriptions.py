"""How well a description is found by what is known of it, by how many of its tokens all-MiniLM-L6-v2 reads.

    .venv/bin/python bench/descriptions.py ITEMS

ITEMS is a file as `bench/overhead.py` takes it. Each description is looked for among all of them, with its function
called `solve`: by the first sentence of its docstring, by the right answer without docstring, and by its tests. The
table has the mean reciprocal rank of each, the share that comes first, and the processor time of a description.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys

del sys.path[0]  # this folder, whose queue.py would hide the standard library's

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from sentence_transformers import SentenceTransformer

if TYPE_CHECKING:
    from torch import Tensor

LENGTHS = (256, 192, 128, 96, 64)
QUOTES = re.compile(r'"""|\'\'\'')
EXAMPLES = re.compile(r">>>|[Ee]xample|For instance|\n\s*\n|assert|==")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=Path)
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2", help="a name, or a folder")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.items.read_text().splitlines()]
    answers = [next(iter(row["right"].items())) for row in rows]
    names = [re.compile(rf"\b{re.escape(Path(path).stem)}\b") for path, _ in answers]
    described = [name.sub("solve", row["description"]) for name, row in zip(names, rows, strict=True)]
    code = [name.sub("solve", QUOTES.split(text)[-1]) for name, (_, text) in zip(names, answers, strict=True)]
    tests = [name.sub("solve", "\n".join(row["test_files"].values())) for name, row in zip(names, rows, strict=True)]
    sentences = [first_sentence(text) for text in described]
    torch.set_num_threads(1)
    model = SentenceTransformer(options.model, device="cpu")
    print(f"{len(rows)} descriptions; rank, and share that comes first")
    print("tokens  ms each     by sentence         by code        by tests")
    for length in LENGTHS:
        model.max_seq_length = length
        began = time.process_time()
        vectors = embed(model, described)
        ms = (time.process_time() - began) / len(rows) * 1000
        by = [found(embed(model, texts), vectors) for texts in (sentences, code, tests)]
        print(f"{length:6} {ms:8.1f} {by[0]:>15} {by[1]:>15} {by[2]:>15}")


def first_sentence(description: str) -> str:
    """Return the text of a docstring before its examples."""
    docstring = QUOTES.split(description[description.rindex("def ") :])[1]
    return " ".join(EXAMPLES.split(docstring.strip())[0].split())


def embed(model: SentenceTransformer, texts: Sequence[str]) -> Tensor:
    """Vectors of length 1, one text at a time as the daemon asks."""
    made = [model.encode([text], convert_to_tensor=True, normalize_embeddings=True)[0] for text in texts]
    return torch.stack(made)


def found(queries: Tensor, vectors: Tensor) -> str:
    """Mean reciprocal rank of the right one, and how often it comes first."""
    alike = queries @ vectors.T
    ranks = (alike > alike.diag()[:, None]).sum(dim=1) + 1
    return f"{(1 / ranks).mean().item():.3f}, {(ranks == 1).float().mean().item():.2f}"


if __name__ == "__main__":
    main()
