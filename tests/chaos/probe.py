"""Asks a sidecar for one step again and again, without the SDK's patience or caution."""

from __future__ import annotations

import secrets
import time

import grpc

from seamark.wire.v1 import events_pb2, sidecar_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire
from tests.chaos.family import METADATA, Family, FamilyFailed

POLL = 0.005  # seconds
WITHIN = 30.0


class Probe:
    """A session of its own that outlives every sidecar."""

    def __init__(self, family: Family, project: str) -> None:
        self._family = family
        self._batch = events_pb2.EventBatch(
            session_id=secrets.token_hex(16), producer_id=secrets.token_hex(16)
        )
        self._start = wire.StartSessionRequest(
            session_id=self._batch.session_id,
            claim=secrets.token_bytes(16),
            project=wire.ProjectHint(name=project),
        )

    def begin(self) -> None:
        """Makes its session known; once, to the first sidecar."""
        with self._channel() as channel:
            calls = sidecar_pb2_grpc.SidecarServiceStub(channel)
            answer = calls.StartSession(self._start, timeout=WITHIN, metadata=METADATA)
        self._batch.capability = answer.capability

    def await_answer(self, began: float) -> float | None:
        """Seconds from that moment to the first answered step; None when the sidecar ended."""
        while time.monotonic() - began < WITHIN:
            if self._answers():
                return time.monotonic() - began
            if not self._family.is_running:
                return None
            time.sleep(POLL)
        raise FamilyFailed(f"no step was answered within {WITHIN:g} s")

    def _answers(self) -> bool:
        request = wire.PrepareStepRequest(events=self._batch, step=5)
        with self._channel() as channel:
            calls = sidecar_pb2_grpc.SidecarServiceStub(channel)
            try:
                calls.PrepareStep(request, timeout=WITHIN, metadata=METADATA)
            except grpc.RpcError:
                return False
        return True

    def _channel(self) -> grpc.Channel:
        # A new one each time: one that failed once would wait before it tries again.
        options = [("grpc.use_local_subchannel_pool", 1)]
        return grpc.insecure_channel(self._family.address, options=options)
