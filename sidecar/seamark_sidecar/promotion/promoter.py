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
from seamark_sidecar.promotion.taxonomy import WORTH, confidence_after, confidence_of


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
    ) -> Promotion:
        """Promotes what passes.

        Args:
            existing: What the project knows.
            sightings: The earlier sessions that found each key, oldest first.
            learnt: The memory that an earlier session made of a key.
        """
        gate = GATES[session.type]
        memories: dict[str, Memory] = {memory.id: memory for memory in existing}
        changed: dict[str, Memory] = {}
        verdicts: list[Verdict] = []
        promoted = 0
        for candidate in map(_safe, filters.best_first(candidates)):
            verdict = filters.of_the_gate(candidate, gate)
            if verdict is None:
                memory = memories.get(learnt.get(candidate.key, "")) or filters.known(
                    candidate, memories.values()
                )
                if memory is not None:
                    changed[memory.id] = memories[memory.id] = _reinforced(memory, session.id)
                    verdict = _known_already(candidate, memory, session)
            earlier = sightings.get(candidate.key, ())
            verdict = (
                verdict
                or filters.frequent(candidate, len(earlier) + 1)
                or filters.within_cap(candidate, promoted, gate)
            )
            if verdict is None:
                memory = self._memory(candidate, session, gate, earlier)
                changed[memory.id] = memories[memory.id] = memory
                promoted += 1
                verdict = Verdict(
                    candidate=candidate,
                    fate=Fate.PROMOTED,
                    reason=f"the session {PASSED[gate.opens]}, and {candidate.signal} needs "
                    f"{WORTH[candidate.signal].sessions} such",
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
        sessions = (*earlier, session.id)
        return Memory(
            id=self.new_id(),
            project_id=session.project_id,
            type=candidate.type,
            content=candidate.content,
            confidence=confidence_of(candidate.signal, len(sessions)),
            source=candidate.source,
            signal=candidate.signal,
            files=candidate.files,
            tags=candidate.tags,
            sessions=sessions,
            created=now,
            accessed=now,
            needs_review=gate.review,
        )


def discard(candidates: Sequence[Candidate], reason: str) -> tuple[Verdict, ...]:
    """All of them come to nothing."""
    return tuple(
        Verdict(candidate=_safe(each), fate=Fate.DISCARDED, reason=reason) for each in candidates
    )


def _safe(candidate: Candidate) -> Candidate:
    """Without secrets: wording can bring words together that were none apart."""
    return dataclasses.replace(candidate, content=redact(candidate.content).text)


def _known_already(candidate: Candidate, memory: Memory, session: SessionRecord) -> Verdict:
    again = "this session said it twice" if session.id in memory.sessions else "one more found it"
    return Verdict(
        candidate=candidate,
        fate=Fate.REINFORCED,
        reason=f"this was known already; {again}",
        memory_id=memory.id,
    )


def _reinforced(memory: Memory, session_id: str) -> Memory:
    if session_id in memory.sessions:
        return memory
    return dataclasses.replace(
        memory,
        sessions=(*memory.sessions, session_id),
        confidence=confidence_after(memory.confidence),
    )
