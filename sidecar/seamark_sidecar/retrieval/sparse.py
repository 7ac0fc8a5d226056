"""Texts as sparse vectors whose inner product is BM25, up to the rarity of the words."""

from __future__ import annotations

import zlib
from collections import Counter

from seamark_sidecar.retrieval.words import words

K1 = 1.2
B = 0.75
# A document's weights are frozen when it is written, so this is a constant, not a statistic.
AVERAGE_LENGTH = 40.0

Sparse = tuple[list[int], list[float]]


def document(text: str) -> Sparse:
    """Word ids with their saturated frequencies; the index multiplies by rarity."""
    counts = Counter(map(_word_id, words(text)))
    length = 1 - B + B * counts.total() / AVERAGE_LENGTH
    return (
        list(counts),
        [count * (K1 + 1) / (count + K1 * length) for count in counts.values()],
    )


def query(text: str) -> Sparse:
    """Each word once, with weight one."""
    ids = list(dict.fromkeys(map(_word_id, words(text))))
    return ids, [1.0] * len(ids)


def _word_id(word: str) -> int:
    return zlib.crc32(word.encode())
