"""The signs of a vector's numbers after a random rotation: a sketch of 128 bytes that keeps angles.

The more bits two vectors share, the smaller the angle between them tends to be (M. Charikar, “Similarity estimation
techniques from rounding algorithms”, 2002). The rotation comes first because the numbers of a vector are not alike:
most of a hashed one are zero and have no sign. It is two rounds of random flips and a Walsh–Hadamard transform, into
1,024 dimensions at least (N. Ailon and B. Chazelle, “The fast Johnson–Lindenstrauss transform”, 2009). The flips come
from a hash function, so that stored bits mean the same on every machine.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors

    Words = NDArray[np.uint64]

LEAST_BITS = 1024
ROUNDS = 2
CHUNK = 2000
"""How many are rotated at once; 16 MB."""


def bits_of(dims: int) -> int:
    """How many bits stand for a vector of so many numbers: a power of two."""
    return max(LEAST_BITS, 1 << (dims - 1).bit_length())


def signs_of(vectors: Vectors) -> Words:
    """The signs of each rotated vector in words of 64 bits, little endian: shape (rows, bits_of(dims) / 64)."""
    import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

    words = np.zeros((len(vectors), bits_of(vectors.shape[1]) // 64), dtype="<u8")
    for at in range(0, len(vectors), CHUNK):
        bits = np.packbits(rotated(vectors[at : at + CHUNK]) > 0, axis=1, bitorder="little")
        words[at : at + CHUNK] = bits.view("<u8")
    return words


def rotated(vectors: Vectors) -> Vectors:
    """The vectors, shape (rows, dims), in other axes: shape (rows, bits_of(dims)). Lengths grow alike."""
    import numpy as np  # noqa: PLC0415  as above

    size = bits_of(vectors.shape[1])
    rows = np.zeros((len(vectors), size), dtype=np.float32)
    rows[:, : vectors.shape[1]] = vectors
    for number in range(ROUNDS):
        rows = _hadamard(rows * _flips(number, size))
    return rows


def closeness(words: Words, query: Vectors) -> Vectors:
    """How near each sketch of the rows is to a rotated vector: the sum of its numbers where the sketch's bit is set.

    It tells more than counting bits, because a number near zero may as well have the other sign. What each value of
    each byte adds is computed once and looked up for all rows, as distances are in product quantization (H. Jégou et
    al., “Product quantization for nearest neighbor search”, 2011).
    """
    import numpy as np  # noqa: PLC0415  as above

    values = np.arange(256, dtype=np.uint8)[:, None]
    bits = np.unpackbits(values, axis=1, bitorder="little").astype(np.float32)
    sums = np.einsum("ij,kj->ik", query.reshape(-1, 8), bits)
    places = words.view(np.uint8).astype(np.intp)
    places += np.arange(0, sums.size, 256)
    near: Vectors = sums.ravel().take(places).sum(axis=1)
    return near


def _hadamard(rows: Vectors) -> Vectors:
    import numpy as np  # noqa: PLC0415  as above

    count, size = rows.shape
    step = 1
    while step < size:
        halves = rows.reshape(count, -1, 2, step)
        sums, differences = halves[:, :, 0] + halves[:, :, 1], halves[:, :, 0] - halves[:, :, 1]
        rows = np.stack([sums, differences], axis=2).reshape(count, size)
        step *= 2
    return rows


@lru_cache(maxsize=8)
def _flips(number: int, size: int) -> Vectors:
    import numpy as np  # noqa: PLC0415  as above

    drawn = np.frombuffer(hashlib.shake_256(b"signs %d" % number).digest(size // 8), dtype=np.uint8)
    flips: Vectors = np.unpackbits(drawn).astype(np.float32) * 2 - 1
    return flips
