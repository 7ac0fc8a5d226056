"""The calls of an agent's process: decode, ask one use-case, encode."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from seamark import __version__, codec
from seamark.events import MemoryRecorded
from seamark.injections import NOTHING, Injection, SessionState
from seamark.wire.v1 import events_pb2, sidecar_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.api.door import Context, rpc
from seamark_sidecar.api.errors import STATUS
from seamark_sidecar.api.intake import LONGEST_PRODUCER, Intake, Read
from seamark_sidecar.api.ports import CheckpointJournal
from seamark_sidecar.api.status import MOST_COUNTED
from seamark_sidecar.injection.injector import Injector
from seamark_sidecar.methodology.registry import Registry
from seamark_sidecar.model.errors import BadRequest, SessionClosed, UnknownSession, WrongCapability
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.model.session import SessionOrigin, SessionType, Work
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.observer.calls.paths import project_path
from seamark_sidecar.promotion.gates import GATES, Opens
from seamark_sidecar.sessions.assignment import assigned
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.groups import Groups
from seamark_sidecar.sessions.live import LiveSession, Producer
from seamark_sidecar.sessions.sessions import Sessions

T = TypeVar("T")

LONGEST_QUERY = 4096
MOST_PLANNED = 1_000_000  # steps
# When a record becomes memory, for the agent that made it.
WHEN: Mapping[Opens, str] = MappingProxyType({
    Opens.ON_VALIDATION: "once this session is validated",
    Opens.AT_END: "when this session ends",
    Opens.NEVER: "never",
})  # fmt: skip


class SidecarServicer(sidecar_pb2_grpc.SidecarServiceServicer):
    """Answers SidecarService."""

    def __init__(
        self,
        *,
        intake: Intake,
        sessions: Sessions,
        ending: Ending,
        injector: Injector,
        journal: CheckpointJournal,
        groups: Groups,
        methodologies: Registry,
        report: Callable[[], Awaitable[wire.StatusResponse]],
    ) -> None:
        self._intake = intake
        self._sessions = sessions
        self._ending = ending
        self._injector = injector
        self._journal = journal
        self._groups = groups
        self._methodologies = methodologies
        self._report = report

    @rpc
    async def Ingest(self, request: wire.IngestRequest, context: Context) -> wire.IngestResponse:
        return wire.IngestResponse(
            receipts=[await self._receipt(batch) for batch in request.batches]
        )

    async def _receipt(self, batch: events_pb2.EventBatch) -> wire.BatchReceipt:
        count = len(batch.events)
        try:
            live = await self._entered(batch)
            read = await self._accepted(live, batch)
        except (UnknownSession, WrongCapability) as error:
            # Counted as neither: the sender makes the session known and sends them again.
            return wire.BatchReceipt(rejected_reason=STATUS[type(error)][1])
        except (SessionClosed, BadRequest) as error:
            self._intake.tally.rejected += count
            return wire.BatchReceipt(rejected_count=count, rejected_reason=STATUS[type(error)][1])
        return wire.BatchReceipt(
            acknowledged_count=len(read.events),
            rejected_count=read.rejected,
            rejected_reason=read.reason,
        )

    @rpc
    async def StartSession(
        self, request: wire.StartSessionRequest, context: Context
    ) -> wire.StartSessionResponse:
        live, right = await self._sessions.start(
            session_id=request.session_id,
            claim=request.claim,
            project_path=request.project.path,
            project_name=request.project.name,
            session_type=request.session_type,
            role=redact(codec.cut(request.role, codec.LONGEST_NAME)).text,
            task=redact(codec.cut(request.task)).text,
            origin=request.origin,
            vouched=request.vouched,
            work=self._work(request),
        )

        async def welcome() -> tuple[Injection, Injection]:
            record = live.record
            # Nobody would see what is shown to a session that is over in truth.
            if record.state is not SessionState.OPEN or record.origin is not SessionOrigin.LIVE:
                return NOTHING, NOTHING
            return await self._injector.at_start(record)

        system, first_message = await live.run(welcome)
        return wire.StartSessionResponse(
            capability=right,
            project_id=live.record.project_id,
            sidecar_version=__version__,
            system=codec.injection_to_wire(system),
            first_message=codec.injection_to_wire(first_message),
        )

    @rpc
    async def PrepareStep(
        self, request: wire.PrepareStepRequest, context: Context
    ) -> wire.PrepareStepResponse:
        async def choose(live: LiveSession) -> wire.PrepareStepResponse:
            shown = await self._injector.before_step(live.record, live, request.step)
            return wire.PrepareStepResponse(injection=codec.injection_to_wire(shown))

        return await self._decided(request.events, choose)

    @rpc
    async def AugmentToolResult(
        self, request: wire.AugmentToolResultRequest, context: Context
    ) -> wire.AugmentToolResultResponse:
        call_id = codec.cut(request.call_id, codec.LONGEST_NAME)

        async def choose(live: LiveSession) -> wire.AugmentToolResultResponse:
            shown = await self._injector.after_tool(live.record, live, call_id, live.pad.step)
            return wire.AugmentToolResultResponse(injection=codec.injection_to_wire(shown))

        return await self._decided(request.events, choose)

    @rpc
    async def Search(self, request: wire.SearchRequest, context: Context) -> wire.SearchResponse:
        async def choose(live: LiveSession) -> wire.SearchResponse:
            result = await self._injector.search(
                live.record,
                codec.cut(request.query, LONGEST_QUERY),
                types=request.types[: codec.MOST_NAMES],
                files=[
                    project_path(file, live.record.root) or file
                    for file in request.files[: codec.MOST_NAMES]
                ],
                limit=request.limit,
                step=live.pad.step,
                peers=self._groups.search(live.record, codec.cut(request.query, LONGEST_QUERY)),
            )
            return wire.SearchResponse(
                hits=[codec.hit_to_wire(hit) for hit in result.hits], text=result.text
            )

        return await self._decided(request.events, choose)

    @rpc
    async def Record(self, request: wire.RecordRequest, context: Context) -> wire.RecordResponse:
        live = await self._entered(request.events)
        read = await self._accepted(live, request.events)
        record = read.events[-1] if read.events else None
        if record is None or not isinstance(record.body, MemoryRecorded):
            raise BadRequest("the last event of a record must be the record itself")
        if refusal := _refusal(record.body, live.record.type):
            return wire.RecordResponse(text=refusal)
        return wire.RecordResponse(
            candidate_id=f"{live.record.id}/{record.sequence}",
            text=f"Noted as {record.body.type}. It becomes memory "
            f"{WHEN[GATES[live.record.type].opens]}.",
        )

    @rpc
    async def Checkpoint(
        self, request: wire.CheckpointRequest, context: Context
    ) -> wire.CheckpointResponse:
        live = await self._entered(request.events)
        await self._accepted(live, request.events)
        count = live.pad.event_count
        label = redact(codec.cut(request.label, codec.LONGEST_NAME)).text
        await self._journal.checkpoint(live.record.id, label, count, live.last_seen)
        return wire.CheckpointResponse(event_count=count)

    @rpc
    async def CompleteSession(
        self, request: wire.CompleteSessionRequest, context: Context
    ) -> wire.CompleteSessionResponse:
        outcome = codec.outcome_from_wire(request.outcome)
        validated = codec.validation_from_wire(request.validation)
        batch = request.events
        live = await self._sessions.enter(batch.session_id, batch.capability)
        self._note_producer(live, batch)
        # An end that is told again brings its events again; they are in, or came too late.
        with contextlib.suppress(SessionClosed):
            await self._accepted(live, batch)
        told = await self._ending.complete(live, outcome, validated)
        return wire.CompleteSessionResponse(summary=codec.summary_to_wire(told))

    @rpc
    async def ReportValidation(
        self, request: wire.ReportValidationRequest, context: Context
    ) -> wire.ReportValidationResponse:
        live = await self._sessions.enter(request.session_id, request.capability)
        told = await self._ending.report_validation(live, request.passed)
        return wire.ReportValidationResponse(summary=codec.summary_to_wire(told))

    @rpc
    async def Status(self, request: wire.StatusRequest, context: Context) -> wire.StatusResponse:
        return await self._report()

    def _work(self, request: wire.StartSessionRequest) -> Work:
        def said(text: str) -> str:
            return redact(codec.cut(text, codec.LONGEST_NAME)).text

        return assigned(
            self._methodologies,
            group=said(request.group),
            parent=codec.cut(request.parent_session_id, codec.LONGEST_NAME)
            if request.parent_session_id != request.session_id
            else "",
            methodology=said(request.methodology),
            phase=said(request.phase),
            unit=said(request.work_unit),
            role=said(request.role),
            planned_steps=min(request.planned_step_count, MOST_PLANNED),
        )

    async def _entered(self, batch: events_pb2.EventBatch) -> LiveSession:
        live = await self._sessions.enter_open(batch.session_id, batch.capability)
        self._note_producer(live, batch)
        return live

    async def _accepted(self, live: LiveSession, batch: events_pb2.EventBatch) -> Read:
        """Takes the batch in for good."""
        read = await self._intake.read(batch)
        self._intake.tally.events += await self._sessions.accept(live, read.events)
        return read

    async def _decided(
        self, batch: events_pb2.EventBatch, choose: Callable[[LiveSession], Awaitable[T]]
    ) -> T:
        """Applies the events that a question carries, then answers it; neither waits for a disk."""
        live = await self._entered(batch)
        read = await self._intake.read(batch)

        async def decide() -> T:
            live.require_open()
            self._intake.tally.events += live.apply(read.events)
            return await choose(live)

        return await live.run(decide)

    def _note_producer(self, live: LiveSession, batch: events_pb2.EventBatch) -> None:
        if not 1 <= len(batch.producer_id) <= LONGEST_PRODUCER:
            return
        known = live.producers.get(batch.producer_id, Producer())
        dropped = max(known.dropped, batch.dropped_count)
        tally = self._intake.tally
        tally.dropped = min(MOST_COUNTED, tally.dropped + dropped - known.dropped)
        live.producers[batch.producer_id] = Producer(
            dropped=dropped, queued=batch.queued_count, breaker_open=batch.breaker_open
        )


def _refusal(record: MemoryRecorded, session_type: SessionType) -> str:
    """Why a record cannot become a memory; empty when it can."""
    if not record.content.strip():
        return "Nothing was recorded: the content is empty. Say what should be remembered."
    if MemoryType.named(record.type) is None:
        return (
            f"Nothing was recorded: {record.type[:40]!r} is not a type of memory. "
            f"Use one of {', '.join(MemoryType)}."
        )
    if SignalKind.RECORDED not in GATES[session_type].signals:
        return f"Nothing was recorded: a session of type {session_type} keeps no records."
    return ""
