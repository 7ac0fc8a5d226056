"""Small operations on the words of a finding."""

from __future__ import annotations

import hashlib
import re

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


def one_line(text: str) -> str:
    """The text without line breaks and double spaces."""
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """The sentences of the text, paragraph by paragraph."""
    found: list[str] = []
    for paragraph in text.splitlines():
        found.extend(part for part in _SENTENCE_END.split(paragraph.strip()) if part)
    return found


def finding_key(kind: str, text: str) -> str:
    """A name that the same words give in any session, whatever their case and punctuation."""
    words = " ".join(_WORD.findall(text.lower())) or text
    return f"{kind}:{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:16]}"
