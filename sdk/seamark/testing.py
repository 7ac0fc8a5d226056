"""A stand-in for the sidecar, to test your own agents with: a real gRPC server that records."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from google.protobuf.message import Message

from seamark import calls, codec
from seamark.errors import UndecodableMessage
from seamark.events import Body, SessionOutcome
from seamark.injections import Injection, MemoryHit, SessionState, SessionSummary
from seamark.settings import Settings
from seamark.wire.v1 import events_pb2 as events
from seamark.wire.v1 import sidecar_pb2 as wire


class RecordingSidecar:
    """Answers every call at once with what you set, and keeps what it was told.

    with RecordingSidecar() as sidecar:
        sidecar.step = "remember the lock file"
        agent = create_agent(..., middleware=[SeamarkMiddleware(client=sidecar.client())])
        agent.invoke(...)
        assert any(isinstance(body, ToolCalled) for body in sidecar.bodies())
    """

    def __init__(self) -> None:
        # What it answers; empty text means nothing to show.
        self.system = ""
        self.first_message = ""
        self.step = ""
        self.tool_result = ""
        self.hits: tuple[MemoryHit, ...] = ()
        # How it misbehaves.
        self.delay = 0.0  # seconds before each answer
        self.garbage = False  # answers bytes that are no message
        self.refusal = ""  # a reason with which calls are refused
        self.refused_call = ""  # the only one, such as `Ingest`; empty means every call
        self.refusal_code = grpc.StatusCode.FAILED_PRECONDITION
        self._lock = threading.Lock()
        self._requests: list[tuple[str, Message]] = []
        self._seen: dict[tuple[str, str, int], Body | None] = {}
        self._sessions: dict[str, SessionState] = {}
        self._directory: Path | None = None
        self._server: grpc.Server | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        if self._directory is None:
            raise RuntimeError("use the recording sidecar in a with statement")
        return f"unix:{self._directory / 's.sock'}"

    def settings(self, **changes: Any) -> Settings:
        """Settings for a client of this sidecar."""
        return Settings(address=self.address, **changes)

    def client(self, **changes: Any) -> Any:
        """A client of this sidecar."""
        from seamark.client import Client

        return Client(self.settings(**changes))

    def bodies(self, session_id: str | None = None) -> list[Body]:
        """What was reported, each event once, in the order of its producer."""
        with self._lock:
            seen = sorted(self._seen.items(), key=lambda item: item[0][2])
        return [
            body
            for (session, _, _), body in seen
            if body is not None and session_id in (None, session)
        ]

    def requests(self, name: str) -> list[Any]:
        """The requests of one call, such as `PrepareStep`, in the order they came."""
        with self._lock:
            return [request for path, request in self._requests if path.endswith("/" + name)]

    def wait_for(self, count: int, timeout: float = 2.0) -> list[Body]:
        """Waits until so many events were reported."""
        end = time.monotonic() + timeout
        while len(self.bodies()) < count and time.monotonic() < end:
            time.sleep(0.005)
        return self.bodies()

    def forget_sessions(self) -> None:
        """Knows no session any more, as with a new data directory; what it recorded stays."""
        with self._lock:
            self._sessions.clear()

    def __enter__(self) -> RecordingSidecar:
        self._directory = Path(tempfile.mkdtemp(prefix="seamark-"))
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def start(self) -> None:
        """Listens, also again after `stop`."""
        server = grpc.server(ThreadPoolExecutor(max_workers=16))
        handlers = {
            call.path.rsplit("/", 1)[1]: self._handler(call, answer)
            for call, answer in self._answers().items()
        }
        service = calls.INGEST.path.rsplit("/", 1)[0].lstrip("/")
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        before = os.umask(0o077)
        try:
            server.add_insecure_port(self.address)
        finally:
            os.umask(before)
        server.start()
        self._server = server

    def stop(self) -> None:
        """Goes away as a dead sidecar would."""
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def _handler(self, call: calls.Call[Any, Any], answer: Any) -> grpc.RpcMethodHandler[Any, Any]:
        def respond(request: Any, context: grpc.ServicerContext) -> bytes:
            with self._lock:
                self._requests.append((call.path, request))
            if self.delay:
                time.sleep(self.delay)
            if self.refusal and call.path.endswith(self.refused_call):
                context.set_trailing_metadata(((codec.REASON_KEY, self.refusal),))
                context.abort(self.refusal_code, f"refused: {self.refusal}")
            if self.garbage:
                return b"\xff\xff\xff\xff not a message"
            if not self._knows(request):
                context.set_trailing_metadata(((codec.REASON_KEY, "UNKNOWN_SESSION"),))
                context.abort(grpc.StatusCode.NOT_FOUND, "no such session; start it first")
            response: Message = answer(request)
            return response.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(
            respond, request_deserializer=call.request.FromString
        )

    def _answers(self) -> dict[calls.Call[Any, Any], Any]:
        return {
            calls.INGEST: self._ingest,
            calls.START_SESSION: self._start,
            calls.PREPARE_STEP: lambda request: wire.PrepareStepResponse(
                injection=self._shown(request.events, self.step)
            ),
            calls.AUGMENT_TOOL_RESULT: lambda request: wire.AugmentToolResultResponse(
                injection=self._shown(request.events, self.tool_result)
            ),
            calls.SEARCH: self._search,
            calls.RECORD: self._record,
            calls.CHECKPOINT: lambda request: wire.CheckpointResponse(
                event_count=self._keep(request.events)
            ),
            calls.COMPLETE_SESSION: self._complete,
            calls.REPORT_VALIDATION: lambda request: wire.ReportValidationResponse(
                summary=self._end(request.session_id, SessionState.CLOSED)
            ),
            calls.STATUS: lambda request: wire.StatusResponse(
                oldest_wire=codec.WIRE, newest_wire=codec.WIRE
            ),
        }

    def _knows(self, request: Any) -> bool:
        match request:
            case wire.StartSessionRequest() | wire.IngestRequest() | wire.StatusRequest():
                return True
            case wire.ReportValidationRequest():
                session_id = request.session_id
            case _:
                session_id = request.events.session_id
        with self._lock:
            return session_id in self._sessions

    def _keep(self, batch: events.EventBatch) -> int:
        with self._lock:
            for message in batch.events:
                name = (batch.session_id, batch.producer_id, message.sequence)
                try:
                    body = codec.event_from_wire(batch.producer_id, message).body
                except UndecodableMessage:
                    continue
                self._seen[name] = body
        return len(batch.events)

    def _ingest(self, request: wire.IngestRequest) -> wire.IngestResponse:
        with self._lock:
            known = set(self._sessions)
        return wire.IngestResponse(
            receipts=[
                wire.BatchReceipt(acknowledged_count=self._keep(batch))
                if batch.session_id in known
                else wire.BatchReceipt(rejected_reason="UNKNOWN_SESSION")
                for batch in request.batches
            ]
        )

    def _start(self, request: wire.StartSessionRequest) -> wire.StartSessionResponse:
        with self._lock:
            self._sessions[request.session_id] = SessionState.OPEN
        return wire.StartSessionResponse(
            capability=b"recorded:" + request.claim,
            project_id="recorded",
            system=_injection(self.system),
            first_message=_injection(self.first_message),
        )

    def _shown(self, batch: events.EventBatch, text: str) -> wire.Injection:
        self._keep(batch)
        return _injection(text)

    def _search(self, request: wire.SearchRequest) -> wire.SearchResponse:
        self._keep(request.events)
        return wire.SearchResponse(
            hits=[codec.hit_to_wire(hit) for hit in self.hits],
            text="\n".join(hit.content for hit in self.hits) or "Nothing is known about this.",
        )

    def _record(self, request: wire.RecordRequest) -> wire.RecordResponse:
        self._keep(request.events)
        return wire.RecordResponse(candidate_id="recorded", text="Noted.")

    def _complete(self, request: wire.CompleteSessionRequest) -> wire.CompleteSessionResponse:
        self._keep(request.events)
        decided = codec.validation_from_wire(request.validation) is not None
        failed = codec.outcome_from_wire(request.outcome) is SessionOutcome.FAILURE
        state = SessionState.CLOSED if decided or failed else SessionState.PENDING
        return wire.CompleteSessionResponse(summary=self._end(request.events.session_id, state))

    def _end(self, session_id: str, state: SessionState) -> wire.SessionSummary:
        with self._lock:
            self._sessions[session_id] = state
        return codec.summary_to_wire(SessionSummary(state=state, line=f"session {state.value}"))


def _injection(text: str) -> wire.Injection:
    return codec.injection_to_wire(Injection(text=text))
