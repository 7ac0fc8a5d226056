"""BM25 over the words of memories, in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from seamark_sidecar.retrieval.words import words

K1 = 1.2
B = 0.75


class KeywordIndex:
    """Which texts hold which words."""

    def __init__(self) -> None:
        self._postings: dict[str, dict[str, int]] = {}
        self._lengths: dict[str, int] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def put(self, name: str, text: str) -> None:
        """Adds the text, or replaces the one of that name."""
        self.remove(name)
        counts = Counter(words(text))
        for word, count in counts.items():
            self._postings.setdefault(word, {})[name] = count
        self._words[name] = tuple(counts)
        self._lengths[name] = counts.total()
        self._total += counts.total()

    def remove(self, name: str) -> None:
        """Forgets the text of that name."""
        length = self._lengths.pop(name, None)
        if length is None:
            return
        self._total -= length
        for word in self._words.pop(name):
            names = self._postings[word]
            del names[name]
            if not names:
                del self._postings[word]

    def search(self, query: str) -> list[tuple[str, float]]:
        """Names and scores, best first; equal scores by name."""
        scores: dict[str, float] = {}
        for word in dict.fromkeys(words(query)):
            for name, score in self._scored(word):
                scores[name] = scores.get(name, 0.0) + score
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))

    def _scored(self, word: str) -> Iterable[tuple[str, float]]:
        names = self._postings.get(word)
        if not names:
            return
        total = len(self._lengths)
        rarity = math.log(1 + (total - len(names) + 0.5) / (len(names) + 0.5))
        average = self._total / total or 1.0
        for name, count in names.items():
            length = self._lengths[name] / average
            yield name, rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
