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
from seamark_sidecar.promotion.gates import GATES, Gate
from seamark_sidecar.promotion.taxonomy import WORTH, confidence_after


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
        sightings: Mapping[str, int],
    ) -> Promotion:
        """Promotes what passes. `sightings` counts earlier sessions that found each key."""
        gate = GATES[session.type]
        memories: dict[str, Memory] = {memory.id: memory for memory in existing}
        changed: dict[str, Memory] = {}
        verdicts: list[Verdict] = []
        promoted = 0
        for candidate in filters.best_first(candidates):
            verdict = filters.of_the_gate(candidate, gate)
            if verdict is None and (memory := filters.known(candidate, memories.values())):
                changed[memory.id] = memories[memory.id] = _reinforced(memory, session.id)
                verdict = Verdict(
                    candidate=candidate,
                    fate=Fate.REINFORCED,
                    reason="this was known already; one more session found it",
                    memory_id=memory.id,
                )
            verdict = (
                verdict
                or filters.frequent(candidate, sightings.get(candidate.key, 0) + 1)
                or filters.within_cap(candidate, promoted, gate)
            )
            if verdict is None:
                memory = self._memory(candidate, session, gate)
                changed[memory.id] = memories[memory.id] = memory
                promoted += 1
                verdict = Verdict(
                    candidate=candidate,
                    fate=Fate.PROMOTED,
                    reason=f"the session was validated, and {candidate.signal} needs "
                    f"{WORTH[candidate.signal].sessions} of them",
                    memory_id=memory.id,
                )
            verdicts.append(verdict)
        return Promotion(
            memories=tuple(changed.values()),
            verdicts=tuple(verdicts),
            sightings=tuple({candidate.key: None for candidate in candidates}),
        )

    def _memory(self, candidate: Candidate, session: SessionRecord, gate: Gate) -> Memory:
        now = self.now()
        return Memory(
            id=self.new_id(),
            project_id=session.project_id,
            type=candidate.type,
            content=redact(candidate.content).text,
            confidence=WORTH[candidate.signal].confidence,
            source=candidate.source,
            signal=candidate.signal,
            files=candidate.files,
            tags=candidate.tags,
            sessions=(session.id,),
            created=now,
            accessed=now,
            needs_review=gate.review,
        )


def discard(candidates: Sequence[Candidate], reason: str) -> tuple[Verdict, ...]:
    """All of them come to nothing."""
    return tuple(Verdict(candidate=each, fate=Fate.DISCARDED, reason=reason) for each in candidates)


def _reinforced(memory: Memory, session_id: str) -> Memory:
    if session_id in memory.sessions:
        return memory
    return dataclasses.replace(
        memory,
        sessions=(*memory.sessions, session_id),
        confidence=confidence_after(memory.confidence),
    )
