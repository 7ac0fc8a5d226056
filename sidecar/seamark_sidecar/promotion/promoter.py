"""Takes an ended session's candidates through the filters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from seamark_sidecar.model.candidate import Candidate, Fate, Promotion, Verdict
from seamark_sidecar.model.memory import Memory, new_memory_id
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.model.session import SessionRecord
from seamark_sidecar.promotion import filters
from seamark_sidecar.promotion.gates import GATES, PASSED, Gate
from seamark_sidecar.promotion.taxonomy import (
    HIGHEST_CONFIDENCE,
    WORTH,
    confidence_after,
    confidence_of,
)
from seamark_sidecar.promotion.trust import CONTAMINATED, trust


@dataclass(frozen=True, slots=True)
class Promoter:
    """Weighs candidates; time and names come from outside, so that it can be repeated."""

    now: Callable[[], datetime]
    new_id: Callable[[], str] = new_memory_id

    def weigh(
        self,
        session: SessionRecord,
        candidates: Sequence[Candidate],
        *,
        existing: Sequence[Memory],
        sightings: Mapping[str, Sequence[str]],
        learnt: Mapping[str, str],
        passed: str = "",
    ) -> Promotion:
        """Promotes what passes.

        Args:
            existing: What the project knows.
            sightings: The earlier sessions that found each key, oldest first.
            learnt: The memory that an earlier session made of a key.
            passed: What is said of the session, if not what its gate says.
        """
        gate = GATES[session.type]
        passed = passed or PASSED[gate.opens]
        memories: dict[str, Memory] = {memory.id: memory for memory in existing}
        changed: dict[str, Memory] = {}
        verdicts: list[Verdict] = []
        promoted = 0
        taken: list[Candidate] = []
        for candidate in map(_safe, filters.best_first(candidates)):
            verdict = filters.of_the_gate(candidate, gate)
            if verdict is None:
                memory = memories.get(learnt.get(candidate.key, "")) or filters.known(
                    candidate, memories.values()
                )
                if memory is not None:
                    verdict = _known_already(candidate, memory, session)
                    memory = _reinforced(memory, candidate, session.id)
                    changed[memory.id] = memories[memory.id] = memory
            earlier = sightings.get(candidate.key, ())
            verdict = (
                verdict
                or filters.said_already(candidate, taken)
                or filters.frequent(candidate, len(earlier) + 1)
                or filters.within_cap(candidate, promoted, gate)
            )
            if verdict is None:
                memory = self._memory(candidate, session, gate, earlier)
                changed[memory.id] = memories[memory.id] = memory
                promoted += 1
                taken.append(candidate)
                verdict = Verdict(
                    candidate=candidate,
                    fate=Fate.PROMOTED,
                    reason=_why_promoted(candidate, passed),
                    memory_id=memory.id,
                )
            verdicts.append(verdict)
        return Promotion(
            memories=tuple(changed.values()),
            verdicts=tuple(verdicts),
            sightings=tuple(
                {each.candidate.key: None for each in verdicts if each.fate is not Fate.DISCARDED}
            ),
        )

    def _memory(
        self, candidate: Candidate, session: SessionRecord, gate: Gate, earlier: Sequence[str]
    ) -> Memory:
        now = self.now()
        trusted = trust(candidate)
        sessions = (*earlier, session.id, *candidate.also_found_by)
        counted = max(
            len(sessions), WORTH[candidate.signal].sessions + len(candidate.also_found_by)
        )
        return Memory(
            id=self.new_id(),
            project_id=session.project_id,
            type=candidate.type,
            content=candidate.content,
            confidence=trusted.factor
            * confidence_of(
                candidate.signal, counted if trusted.counts_quorum else len(earlier) + 1
            ),
            source=candidate.source,
            signal=candidate.signal,
            files=candidate.files,
            tags=candidate.tags,
            sessions=sessions,
            created=now,
            accessed=now,
            needs_review=gate.review or trusted.needs_review,
            contaminated_by=candidate.contaminated_by,
        )


def absorb(candidate: Candidate, finder: str, verdict: Verdict | None) -> Verdict:
    """The fate of an entry that is one with another session's, which had this verdict."""
    reason = f"session {finder[:16]} of the same group found it too"
    if verdict is None:
        return Verdict(candidate=_safe(candidate), fate=Fate.DISCARDED, reason=reason)
    is_memory = bool(verdict.memory_id)
    return Verdict(
        candidate=_safe(candidate),
        fate=Fate.REINFORCED if is_memory else verdict.fate,
        reason=reason if is_memory else f"{reason}; {verdict.reason}",
        release=verdict.release,
        memory_id=verdict.memory_id,
    )


def discard(candidates: Sequence[Candidate], reason: str) -> tuple[Verdict, ...]:
    """All of them come to nothing."""
    return tuple(
        Verdict(candidate=_safe(each), fate=Fate.DISCARDED, reason=reason) for each in candidates
    )


def _safe(candidate: Candidate) -> Candidate:
    """Without secrets: wording can bring words together that were none apart."""
    return dataclasses.replace(candidate, content=redact(candidate.content).text)


def _why_promoted(candidate: Candidate, passed: str) -> str:
    needed = filters.needed_sessions(candidate)
    why = f"the session {passed}, and {candidate.signal} needs {needed} such"
    if candidate.also_found_by:
        why = f"the session {passed}, and {len(candidate.also_found_by)} more of its group found it"
    if candidate.contaminated_by:
        why += f"; a person has to approve it, for text came in ({candidate.contaminated_by})"
    return why


def _known_already(candidate: Candidate, memory: Memory, session: SessionRecord) -> Verdict:
    again = "this session said it twice" if session.id in memory.sessions else "one more found it"
    if _adds_nothing(memory, candidate):
        again = f"that this one found it does not count ({candidate.contaminated_by})"
    return Verdict(
        candidate=candidate,
        fate=Fate.REINFORCED,
        reason=f"this was known already; {again}",
        memory_id=memory.id,
    )


def _adds_nothing(memory: Memory, candidate: Candidate) -> bool:
    """Whether text from outside would speak for something that was found without it."""
    return bool(candidate.contaminated_by) and not memory.contaminated_by


def _reinforced(memory: Memory, candidate: Candidate, session_id: str) -> Memory:
    if _adds_nothing(memory, candidate):
        return memory
    for finder in (session_id, *candidate.also_found_by):
        if finder not in memory.sessions:
            memory = dataclasses.replace(
                memory,
                sessions=(*memory.sessions, finder),
                confidence=_higher(memory),
            )
    return memory


def _higher(memory: Memory) -> float:
    """One more independent session's worth; of what is contaminated it stays below its share."""
    higher = confidence_after(memory.confidence)
    if memory.contaminated_by:
        return max(memory.confidence, min(higher, CONTAMINATED * HIGHEST_CONFIDENCE))
    return higher
