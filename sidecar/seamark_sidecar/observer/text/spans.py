"""Recognises a passage of text wherever it is repeated, by fingerprints of its words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from itertools import accumulate, islice
from operator import sub

# So many words in a row make one shingle, and of so many shingles in a row one is kept: whatever
# repeats SHINGLE + WINDOW - 1 words shares a fingerprint.
SHINGLE = 8
WINDOW = 6
# In a short text one common shingle is much of it; a long one may share a phrase by chance.
SHORT = 64  # words
ENOUGH = 3
MOST_WORDS_KNOWN = 50_000
# A line of prose has at least so many spaces, and a sign of code in so many characters at most.
LEAST_SPACES = 5
SIGN_EVERY = 20

# Numbers are left out, since tools put those of lines before them. Where words are not set apart
# by spaces, each character stands for one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d]\w*")
_SIGN = re.compile(r"[{}()\[\];=<>|\\_$&@+*/#]")
_ASCII_WORD = re.compile(rb"[a-z_]\w*")


class _Numbers(dict[bytes, int]):
    """A number for each word, of 60 bits, so that the sum of a shingle has 63."""

    def __missing__(self, word: bytes) -> int:
        if len(self) >= MOST_WORDS_KNOWN:
            self.clear()
        digest = hashlib.blake2b(word, digest_size=8).digest()
        number = self[word] = int.from_bytes(digest, "big") >> 4
        return number


_numbers = _Numbers()


def fingerprints(text: str) -> dict[int, None]:
    """The fingerprints in the order of the text, each once; none of fewer than eight words."""
    return _fingerprints(_words(text))


def prose(text: str) -> str:
    """The lines that are sentences: code, tables and logs look alike wherever they come from."""
    return "\n".join(line for line in text.splitlines() if _is_prose(line))


def repeats(text: str, *known: Container[int]) -> bool:
    """Whether the text repeats a long span of what these fingerprints were made of."""
    words = _words(text)
    enough = 1 if len(words) <= SHORT else ENOUGH
    found = (each for each in _fingerprints(words) if any(each in some for some in known))
    return sum(1 for _ in islice(found, enough)) == enough


def _is_prose(line: str) -> bool:
    signs = len(_SIGN.findall(line))
    return line.count(" ") >= LEAST_SPACES and SIGN_EVERY * signs <= len(line)


def _words(text: str) -> list[bytes]:
    lowered = text.lower()
    if lowered.isascii():
        return _ASCII_WORD.findall(lowered.encode())
    return [word.encode("utf-8", "replace") for word in _WORD.findall(lowered)]


def _fingerprints(words: list[bytes]) -> dict[int, None]:
    if len(words) < SHINGLE:
        return {}
    sums = list(accumulate(map(_numbers.__getitem__, words), initial=0))
    shingles = list(map(sub, sums[SHINGLE:], sums))
    if len(shingles) < WINDOW:
        return {min(shingles): None}
    windows = (shingles[start:] for start in range(WINDOW))
    return dict.fromkeys(map(min, *windows))
