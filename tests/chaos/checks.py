"""Holds what agents were told against what is stored; every difference is a violation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seamark.events import MemoryRecorded
from tests.chaos import bodies
from tests.chaos.history import ProducerTold, SessionTold, Told
from tests.chaos.stored import Indexed, Stored

_AT_END = frozenset({"insights", "pr_review"})
_KEPT = frozenset({"promoted", "reinforced"})


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was not kept."""

    what: str
    # Who it happened to: ids.
    of: str
    detail: str = ""


def check_store(told: Iterable[Told], stored: Stored) -> Iterator[Violation]:
    """Everything that an answer promised, and that nothing is there twice."""
    for each in stored.damage:
        yield Violation("the database is damaged", each)
    yield from _memories(stored)
    named: set[str] = {memory.id for memory in stored.memories}
    for one in told:
        for session in one.sessions.values():
            state = stored.sessions.get(session.id, "")
            yield from _state(session, state, flushed=one.flushed)
            if state == "closed":
                yield from _verdicts(session, stored, named)
            else:
                yield from _events(session, stored)
            for memory in sorted(session.learnt - named):
                yield Violation("a memory named as learnt is not there", memory, session.id)


def check_index(stored: Stored, index: Indexed | None, *, embedded: bool) -> Iterator[Violation]:
    """The index has the record's memories in their newest versions, and nothing else."""
    if index is None:
        yield Violation("the index cannot be read", "")
        return
    record = stored.seqs
    for memory in sorted(record.keys() - index.seqs.keys()):
        yield Violation("a memory is missing in the index", memory, f"seq {record[memory]}")
    for memory in sorted(index.seqs.keys() - record.keys()):
        yield Violation("the index has a memory that the record has not", memory)
    for memory in sorted(record.keys() & index.seqs.keys()):
        if record[memory] != index.seqs[memory]:
            detail = f"seq {record[memory]}, in the index {index.seqs[memory]}"
            yield Violation("the index has another version of a memory", memory, detail)
    if embedded:
        for memory in sorted(record.keys() & index.seqs.keys() - index.embedded):
            yield Violation("a memory has no vector in the index", memory)


def _memories(stored: Stored) -> Iterator[Violation]:
    same = Counter((each.project_id, each.type, each.content) for each in stored.memories)
    for (project, _, content), times in same.items():
        if times > 1:
            yield Violation("a memory is there more than once", project, content)
    seqs = Counter(each.seq for each in stored.memories)
    for seq, times in seqs.items():
        if times > 1 or not 0 < seq <= stored.last_seq:
            yield Violation("a change has a wrong number", str(seq), f"of {stored.last_seq}")
    for memory in stored.memories:
        if len(set(memory.sessions)) != len(memory.sessions):
            yield Violation("a session taught the same memory twice", memory.id)


def _state(session: SessionTold, state: str, *, flushed: bool) -> Iterator[Violation]:
    """How far a session must have come, and how far it may."""
    if "closed" in session.states and state != "closed":
        yield Violation("a session answered as closed is not", session.id, state)
    if "pending" in session.states and state not in ("pending", "closed"):
        yield Violation("a session answered as ended has not", session.id, state)
    if state in ("pending", "closed") and not session.ends:
        yield Violation("a session has ended that nobody ended", session.id, state)
    if flushed and _must_be_closed(session) and state != "closed":
        yield Violation("the end of a session was not carried out", session.id, state)
    if flushed and session.ends and state not in ("pending", "closed"):
        yield Violation("the end of a session was lost", session.id, state)


def _must_be_closed(session: SessionTold) -> bool:
    return any(
        validated is not None or outcome not in ("success", None) or session.type in _AT_END
        for outcome, validated in session.ends
    )


def _events(session: SessionTold, stored: Stored) -> Iterator[Violation]:
    """Of a session whose gate has not closed, every acknowledged event is there, once, in order."""
    by_producer: defaultdict[str, list[int]] = defaultdict(list)
    for event in stored.events.get(session.id, ()):
        by_producer[event.producer_id].append(event.sequence)
        producer = session.producers.get(event.producer_id)
        if producer is None or event.body != _sent(producer, event.sequence):
            yield Violation(
                "an event is stored that was never sent so",
                f"{session.id}/{event.producer_id}/{event.sequence}",
                repr(event.body),
            )
    for name, producer in session.producers.items():
        found = by_producer[name]
        for sequence in sorted(producer.acknowledged() - set(found)):
            yield Violation("an acknowledged event is lost", f"{session.id}/{name}/{sequence}")
        for sequence, times in Counter(found).items():
            if times > 1:
                yield Violation("an event is there twice", f"{session.id}/{name}/{sequence}")
        if found != sorted(found):
            yield Violation("events are out of order", f"{session.id}/{name}", repr(found))


def _sent(producer: ProducerTold, sequence: int) -> object:
    if sequence > producer.sent_to:
        return None
    content = producer.records.get(sequence)
    if content is not None:
        return bodies.record(content)
    return bodies.body(producer.label, sequence)


def _verdicts(session: SessionTold, stored: Stored, named: set[str]) -> Iterator[Violation]:
    """Of a session whose gate has closed, every acknowledged record came to something."""
    verdicts = stored.verdicts.get(session.id, [])
    weighed = {each.content for each in verdicts}
    for name, producer in session.producers.items():
        for sequence in sorted(producer.acknowledged() & producer.records.keys()):
            record: MemoryRecorded = bodies.record(producer.records[sequence])
            if record.content not in weighed:
                yield Violation(
                    "an acknowledged record was not weighed",
                    f"{session.id}/{name}/{sequence}",
                    record.content,
                )
    for verdict in verdicts:
        if verdict.fate in _KEPT and verdict.memory_id not in named:
            yield Violation(
                "a promoted memory is not there", verdict.memory_id, f"{session.id}: {verdict}"
            )
