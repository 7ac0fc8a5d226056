"""Whether two texts say the same, by the words they share."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\w+")


def alike(left: str, right: str, least: float) -> bool:
    """Whether more than this share of all their words is common to both."""
    ours, theirs = words_of(left), words_of(right)
    fewer, more = sorted((len(ours), len(theirs)))
    # Most pairs differ so much in size that their words need not be compared.
    if fewer <= least * more:
        return False
    common = len(ours & theirs)
    return common > least * (fewer + more - common)


def holds(text: str, part: str, least: float) -> bool:
    """Whether at least this share of the part's words is in the text."""
    words = words_of(part)
    return bool(words) and len(words & words_of(text)) >= least * len(words)


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(_WORD.findall(text.lower()))
