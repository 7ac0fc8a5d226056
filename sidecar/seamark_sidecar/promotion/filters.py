"""The stages a candidate passes on its way to becoming a memory; each a pure function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from seamark_sidecar.model.candidate import Candidate, Fate, Verdict
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.promotion.gates import Gate
from seamark_sidecar.promotion.taxonomy import WORTH

# Share of common words above which two texts say the same.
ALIKE = 0.88
_WORD = re.compile(r"\w+")


def of_the_gate(candidate: Candidate, gate: Gate) -> Verdict | None:
    """Discards signals that this kind of session does not teach."""
    if candidate.signal in gate.signals:
        return None
    return Verdict(
        candidate=candidate,
        fate=Fate.DISCARDED,
        reason=f"{candidate.signal} is not learnt from this kind of session",
    )


def frequent(candidate: Candidate, sightings: int) -> Verdict | None:
    """Holds back what too few sessions have found; `sightings` counts this one."""
    needed = WORTH[candidate.signal].sessions
    if sightings >= needed:
        return None
    missing = needed - sightings
    return Verdict(
        candidate=candidate,
        fate=Fate.HELD,
        reason=f"{candidate.signal} was found in {sightings} of {needed} sessions needed",
        release=f"validated sessions that find it again: {missing} more",
    )


def known(candidate: Candidate, memories: Iterable[Memory]) -> Memory | None:
    """The memory that already says this."""
    words = _words(candidate.content)
    for memory in memories:
        if memory.type is candidate.type and _overlap(words, _words(memory.content)) > ALIKE:
            return memory
    return None


def best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Ordered by what they are worth, then by when they were found."""
    return sorted(candidates, key=lambda each: (-WORTH[each.signal].score, each.step))


def within_cap(candidate: Candidate, promoted: int, gate: Gate) -> Verdict | None:
    """Holds back what exceeds the most that one session may teach."""
    if promoted < gate.most:
        return None
    return Verdict(
        candidate=candidate,
        fate=Fate.HELD,
        reason=f"one session teaches at most {gate.most} memories, and better ones came first",
        release="another session that finds it",
    )


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    fewer, more = sorted((len(left), len(right)))
    # Most pairs differ so much in size that their words need not be compared.
    if fewer <= ALIKE * more:
        return 0.0
    common = len(left & right)
    return common / (fewer + more - common)
