"""The stages a candidate passes on its way to becoming a memory; each a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seamark_sidecar.model.candidate import Candidate, Fate, Verdict
from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.gates import Gate
from seamark_sidecar.promotion.likeness import alike, holds
from seamark_sidecar.promotion.taxonomy import WORTH
from seamark_sidecar.promotion.trust import trust

# Share of common words above which two texts say the same.
ALIKE = 0.88
# What the next one of a kind is worth, beside the one before it.
FURTHER = 0.9
# Share of a candidate's words in a better one at which it adds nothing.
SAID_ALREADY = 0.8
# What is put into words by the session itself, so that two findings may be one sentence.
_SAID = frozenset({
    SignalKind.SELF_CORRECTION,
    SignalKind.DEAD_END,
    SignalKind.COUPLING,
    SignalKind.DISCOVERY,
})  # fmt: skip


def of_the_gate(candidate: Candidate, gate: Gate) -> Verdict | None:
    """Discards signals that this kind of session does not teach."""
    if candidate.signal in gate.signals:
        return None
    return Verdict(
        candidate=candidate,
        fate=Fate.DISCARDED,
        reason=f"{candidate.signal} is not learnt from this kind of session",
    )


def needed_sessions(candidate: Candidate) -> int:
    """How many sessions must have found it."""
    return candidate.sessions_needed or WORTH[candidate.signal].sessions


def frequent(candidate: Candidate, sightings: int) -> Verdict | None:
    """Holds back what too few sessions have found; `sightings` counts this one.

    Agents of one work group that each found it are enough.
    """
    needed = needed_sessions(candidate)
    if sightings >= needed or (candidate.also_found_by and trust(candidate).counts_quorum):
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
    for memory in memories:
        if memory.type is candidate.type and alike(candidate.content, memory.content, ALIKE):
            return memory
    return None


def said_already(candidate: Candidate, better: Iterable[Candidate]) -> Verdict | None:
    """Discards what a better finding of the same session says, too."""
    if candidate.signal not in _SAID:
        return None
    for other in better:
        if holds(other.content, candidate.content, SAID_ALREADY):
            return Verdict(
                candidate=candidate,
                fate=Fate.DISCARDED,
                reason=f"a better finding of this session says it already ({other.signal})",
            )
    return None


def best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Ordered by what they are worth, each further one of a kind a little less.

    Within a kind the most surprising comes first, then the earliest. So a session that found many
    things of one kind still shows the best of the others.
    """
    kinds: dict[SignalKind, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda each: (-each.surprise, each.step)):
        kinds.setdefault(candidate.signal, []).append(candidate)
    valued = [
        (WORTH[kind].score * FURTHER**place, candidate)
        for kind, members in kinds.items()
        for place, candidate in enumerate(members)
    ]
    return [each for _, each in sorted(valued, key=lambda pair: (-pair[0], pair[1].step))]


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
