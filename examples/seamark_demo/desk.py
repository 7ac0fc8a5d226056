"""What the sidecar tells a person: which memories there are, and why they were used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc

from seamark.codec import WIRE, WIRE_KEY
from seamark.wire.v1 import operator_pb2, sidecar_pb2
from seamark.wire.v1.operator_pb2_grpc import OperatorServiceStub
from seamark.wire.v1.sidecar_pb2_grpc import SidecarServiceStub

SECONDS = 10.0
_METADATA = ((WIRE_KEY, str(WIRE)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """One memory that was shown to the agent."""

    point: str
    memory_id: str
    citation: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of something the sidecar thought worth remembering."""

    signal: str
    content: str
    fate: str
    reason: str
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The sidecar's account of one session."""

    session_id: str = ""
    injected: tuple[Injected, ...] = ()
    fates: tuple[Fate, ...] = ()


class Desk:
    """The questions of the demo; the same that the command `seamark` asks."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._operator = OperatorServiceStub(channel)
        self._sidecar = SidecarServiceStub(channel)

    def account(self, session_id: str = "") -> Account:
        """What is known of a session; of the latest one when no id is given."""
        request = operator_pb2.ExplainSessionRequest(session_id=session_id)
        try:
            told = self._operator.ExplainSession(request, timeout=SECONDS, metadata=_METADATA)
        except grpc.RpcError as error:
            if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.NOT_FOUND:
                return Account()
            raise
        return Account(
            session_id=told.session_id,
            injected=tuple(
                Injected(
                    point=each.point,
                    memory_id=each.memory_id,
                    citation=each.label,
                    reason=each.reason,
                )
                for each in told.injections
            ),
            fates=tuple(
                Fate(
                    signal=each.signal,
                    content=each.content,
                    fate=each.fate,
                    reason=each.reason,
                    release=each.release,
                )
                for each in told.candidates
            ),
        )

    def memory_count(self) -> int:
        """How many memories the sidecar has."""
        request = sidecar_pb2.StatusRequest()
        status = self._sidecar.Status(request, timeout=SECONDS, metadata=_METADATA)
        return status.memory_count

    def remember(self, checkout: Path, content: str, files: tuple[str, ...] = ()) -> str:
        """Stores what a person knows; returns the memory's id."""
        request = operator_pb2.RememberRequest(
            project=sidecar_pb2.ProjectHint(path=str(checkout)),
            type="gotcha",
            content=content,
            files=files,
            interactive=True,
        )
        answer = self._operator.Remember(request, timeout=SECONDS, metadata=_METADATA)
        return answer.memory.memory_id
