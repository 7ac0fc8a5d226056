"""Our tokenizer: words and identifiers, split and whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"[^\W_]+(?:[_./-]+[^\W_]+)*")
# Between the parts of a token: signs, a step up in camelCase, digits beside letters.
_SEAM = re.compile(
    r"[_./-]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
# A longer token is known by its parts alone.
LONGEST_TOKEN = 80
# (ending, replacement, least letters that must stay before it), the plural first.
_PLURALS = (
    ("ies", "y", 3),
    ("sses", "ss", 2),
    ("xes", "x", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("s", "", 3),
)
_ENDINGS = (
    ("ing", "", 4),
    ("ed", "", 4),
    ("e", "", 4),
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
        parts = [part.lower() for part in _SEAM.split(token)]
        for part in parts:
            if part not in _STOP and len(part) <= LONGEST_TOKEN:
                yield _stem(part)
        if len(parts) > 1 and len(token) <= LONGEST_TOKEN:
            yield token.lower()


def _stem(word: str) -> str:
    if not word.endswith("ss"):
        word = _shorter(word, _PLURALS)
    return _shorter(word, _ENDINGS)


def _shorter(word: str, endings: tuple[tuple[str, str, int], ...]) -> str:
    for ending, replacement, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: len(word) - len(ending)] + replacement
    return word
