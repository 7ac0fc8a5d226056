"""Our tokenizer: words and identifiers, split and whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"[^\W_]+(?:[_./-]+[^\W_]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
LONGEST_TOKEN = 80
# (ending, replacement, least letters that must stay before it)
_ENDINGS = (
    ("ies", "y", 3),
    ("sses", "ss", 2),
    ("ing", "", 4),
    ("ed", "", 4),
    ("es", "e", 4),
    ("s", "", 3),
)
_STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "i",
    "in", "is", "it", "its", "no", "not", "of", "on", "or", "so", "that", "the", "then", "this",
    "to", "was", "we", "were", "when", "which", "with", "you",
})  # fmt: skip


def words(text: str) -> list[str]:
    """The terms under which a text is found.

    Identifiers and paths give their parts and the joined form: `read_tokens` gives read, token
    and read_tokens; `src/cart.py` gives src, cart, py and the path.
    """
    return list(_terms(text))


def _terms(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        token = match.group()
        if len(token) > LONGEST_TOKEN:
            continue
        parts = [part.lower() for part in _PART.findall(token)]
        if len(parts) == 1:
            if parts[0] not in _STOP:
                yield _stem(parts[0])
            continue
        for part in parts:
            if part not in _STOP:
                yield _stem(part)
        yield token.lower()


def _stem(word: str) -> str:
    if word.endswith("ss"):
        return word
    for ending, replacement, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: len(word) - len(ending)] + replacement
    return word
