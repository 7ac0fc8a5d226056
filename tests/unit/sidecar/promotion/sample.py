"""Candidates, memories and sessions for tests of promotion."""

import itertools
from datetime import UTC, datetime

from seamark.injections import SessionState
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.memory import Memory, MemoryType, Source
from seamark_sidecar.model.session import SessionRecord, SessionType
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.promotion.promoter import Promoter

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SOURCES = {SignalKind.RECORDED: Source.AGENT_EXPLICIT}
TYPES = {SignalKind.ERROR_RETRY: MemoryType.ERROR_PATTERN}


def candidate(
    content="Prices are in cents.", signal=SignalKind.RECORDED, key="", type_=None, **facts
):
    return Candidate(
        signal=signal,
        source=SOURCES.get(signal, Source.OBSERVER_INFERRED),
        type=type_ or TYPES.get(signal, MemoryType.GOTCHA),
        content=content,
        key=key or f"{signal}:{content}",
        **facts,
    )


def session(id_="s1", type_=SessionType.BUILD):
    return SessionRecord(
        id=id_,
        project_id="p",
        root="/r",
        type=type_,
        role="",
        task="",
        capability_hash=b"",
        state=SessionState.OPEN,
        started=NOON,
    )


def memory(content="Prices are in cents.", id_="m_000000000001", **facts):
    kept = {
        "type": MemoryType.GOTCHA,
        "confidence": 0.75,
        "source": Source.AGENT_EXPLICIT,
        "signal": SignalKind.RECORDED,
        "sessions": ("s0",),
        **facts,
    }
    return Memory(id=id_, project_id="p", content=content, created=NOON, accessed=NOON, **kept)


def promoter():
    numbers = itertools.count(1)
    return Promoter(lambda: NOON, lambda: f"m_{next(numbers):012x}")


def weigh(*candidates, in_session=None, existing=(), sightings=None, learnt=None):
    return promoter().weigh(
        in_session or session(),
        candidates,
        existing=existing,
        sightings=sightings or {},
        learnt=learnt or {},
    )
