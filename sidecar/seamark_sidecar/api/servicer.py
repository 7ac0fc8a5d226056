"""The calls of an agent's process: decode, ask one use-case, encode."""

from __future__ import annotations

import os
from datetime import datetime

from seamark import __version__, codec
from seamark.events import Event, MemoryRecorded
from seamark.wire.v1 import events_pb2, sidecar_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.api.door import NEWEST_WIRE, OLDEST_WIRE, Context, rpc
from seamark_sidecar.api.errors import STATUS
from seamark_sidecar.api.intake import Intake
from seamark_sidecar.api.ports import CheckpointJournal, Record
from seamark_sidecar.injection.injector import Injector
from seamark_sidecar.model.errors import BadRequest, SessionClosed, UnknownSession, WrongCapability
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.sessions.ending import Ending
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.sessions import Sessions


class SidecarServicer(sidecar_pb2_grpc.SidecarServiceServicer):
    """Answers SidecarService."""

    def __init__(
        self,
        *,
        intake: Intake,
        sessions: Sessions,
        ending: Ending,
        injector: Injector,
        record: Record,
        journal: CheckpointJournal,
        data_dir: str,
        started: datetime,
    ) -> None:
        self._intake = intake
        self._sessions = sessions
        self._ending = ending
        self._injector = injector
        self._record = record
        self._journal = journal
        self._data_dir = data_dir
        self._started = started
        self._dropped: dict[tuple[str, str], int] = {}

    @rpc
    async def Ingest(self, request: wire.IngestRequest, context: Context) -> wire.IngestResponse:
        return wire.IngestResponse(
            receipts=[await self._receipt(batch) for batch in request.batches]
        )

    async def _receipt(self, batch: events_pb2.EventBatch) -> wire.BatchReceipt:
        count = len(batch.events)
        try:
            live = await self._sessions.enter_open(batch.session_id, batch.capability)
            read = self._intake.read(batch)
        except (UnknownSession, WrongCapability) as error:
            # Counted as neither: the sender makes the session known and sends them again.
            return wire.BatchReceipt(rejected_reason=STATUS[type(error)][1])
        except (SessionClosed, BadRequest) as error:
            self._intake.tally.rejected += count
            return wire.BatchReceipt(rejected_count=count, rejected_reason=STATUS[type(error)][1])
        await self._sessions.accept(live, read.events)
        if batch.dropped_count:
            self._dropped[batch.session_id, batch.producer_id] = batch.dropped_count
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
            role=codec.cut(request.role, codec.LONGEST_NAME),
            task=redact(codec.cut(request.task)).text,
        )
        system, first_message = await live.run(lambda: self._injector.at_start(live.record))
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
        live, events = await self._entered(request.events)

        async def decide() -> wire.Injection:
            live.apply(events)
            shown = await self._injector.before_step(live.record, live, request.step)
            return codec.injection_to_wire(shown)

        return wire.PrepareStepResponse(injection=await live.run(decide))

    @rpc
    async def AugmentToolResult(
        self, request: wire.AugmentToolResultRequest, context: Context
    ) -> wire.AugmentToolResultResponse:
        live, events = await self._entered(request.events)

        async def decide() -> wire.Injection:
            live.apply(events)
            shown = await self._injector.after_tool(
                live.record, live, request.call_id, live.pad.step
            )
            return codec.injection_to_wire(shown)

        return wire.AugmentToolResultResponse(injection=await live.run(decide))

    @rpc
    async def Search(self, request: wire.SearchRequest, context: Context) -> wire.SearchResponse:
        live, events = await self._entered(request.events)

        async def find() -> wire.SearchResponse:
            live.apply(events)
            result = await self._injector.search(
                live.record,
                request.query,
                types=request.types,
                files=request.files,
                limit=request.limit,
                step=live.pad.step,
            )
            return wire.SearchResponse(
                hits=[codec.hit_to_wire(hit) for hit in result.hits], text=result.text
            )

        return await live.run(find)

    @rpc
    async def Record(self, request: wire.RecordRequest, context: Context) -> wire.RecordResponse:
        live, events = await self._entered(request.events)
        body = events[-1].body if events else None
        if not isinstance(body, MemoryRecorded):
            raise BadRequest("the last event of a record must be the record itself")
        await self._sessions.accept(live, events)
        if refusal := _refusal(body):
            return wire.RecordResponse(text=refusal)
        return wire.RecordResponse(
            candidate_id=f"{live.record.id}/{events[-1].sequence}",
            text=f"Noted as {body.type}. It becomes memory once this session is validated.",
        )

    @rpc
    async def Checkpoint(
        self, request: wire.CheckpointRequest, context: Context
    ) -> wire.CheckpointResponse:
        live, events = await self._entered(request.events)
        await self._sessions.accept(live, events)
        count = live.pad.event_count
        await self._journal.checkpoint(
            live.record.id, codec.cut(request.label, codec.LONGEST_NAME), count, live.last_seen
        )
        return wire.CheckpointResponse(event_count=count)

    @rpc
    async def CompleteSession(
        self, request: wire.CompleteSessionRequest, context: Context
    ) -> wire.CompleteSessionResponse:
        outcome = codec.outcome_from_wire(request.outcome)
        validated = codec.validation_from_wire(request.validation)
        live = await self._sessions.enter(request.events.session_id, request.events.capability)
        if request.events.events:
            live, events = await self._entered(request.events)
            await self._sessions.accept(live, events)
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
        counts = await self._record.counts()
        tally = self._intake.tally
        status = wire.StatusResponse(
            sidecar_version=__version__,
            process_id=os.getpid(),
            memory_count=counts.memories,
            project_count=counts.projects,
            open_session_count=counts.open_sessions,
            pending_session_count=counts.pending_sessions,
            event_count=tally.events,
            rejected_event_count=tally.rejected,
            dropped_event_count=sum(self._dropped.values()),
            redacted_secret_count=tally.redacted,
            quarantined_event_count=tally.quarantined,
            data_dir=self._data_dir,
            oldest_wire=OLDEST_WIRE,
            newest_wire=NEWEST_WIRE,
        )
        status.start_time.FromDatetime(self._started)
        return status

    async def _entered(self, batch: events_pb2.EventBatch) -> tuple[LiveSession, tuple[Event, ...]]:
        live = await self._sessions.enter_open(batch.session_id, batch.capability)
        return live, self._intake.read(batch).events


def _refusal(record: MemoryRecorded) -> str:
    """Why a record cannot become a memory; empty when it can."""
    if not record.content.strip():
        return "Nothing was recorded: the content is empty. Say what should be remembered."
    if MemoryType.named(record.type) is None:
        return (
            f"Nothing was recorded: {record.type[:40]!r} is not a type of memory. "
            f"Use one of {', '.join(MemoryType)}."
        )
    return ""
