"""One run of one agent, as its own process sees it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from seamark import calls, codec
from seamark.breaker import Breaker
from seamark.errors import CallRefused, SidecarTooSlow, UndecodableMessage
from seamark.events import Body, MemoryRecorded, SessionOutcome
from seamark.injections import (
    NOTHING,
    Injection,
    SearchResult,
    SessionStart,
    SessionSummary,
)
from seamark.outbox import Entry
from seamark.wire.v1 import events_pb2 as events
from seamark.wire.v1 import sidecar_pb2 as wire

if TYPE_CHECKING:
    from seamark.client import Client

WITHOUT_MEMORY = "Memory cannot be reached right now. Go on without it."
NOTED_FOR_LATER = "Noted. Memory cannot be reached right now; the note will be delivered later."
NOT_RECORDED = "Nothing was recorded: the type, the content, files and tags must be text."
DELIVERED_LATER = "Memory cannot be reached right now; the end of the session is delivered later."
NOT_TAKEN = "Memory did not take the end of this session"
START_TIMEOUT = 2.0  # seconds, on the sender's thread only
# A server takes 4 MB by default; one event, half a megabyte at most, may go beyond this.
MOST_BYTES = 1024 * 1024
LONGEST_PATH = 4096
MOST_PLANNED = 1_000_000
# A sidecar with a new data directory, or a new key, does not know the session any more.
ASK_AGAIN = frozenset({"UNKNOWN_SESSION", "WRONG_CAPABILITY"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a session is a part of, as far as its app says."""

    # Sessions with the same group work at the same time on the same thing.
    group: str = ""
    # The id of the session whose agent this one works for.
    parent_session: str = ""
    methodology: str = ""
    phase: str = ""
    work_unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What is needed to continue a session from anywhere: its name, its secret, its project."""

    session_id: str
    claim: bytes
    project_path: str = ""
    project_name: str = ""
    session_type: str = ""
    role: str = ""
    work: Work = Work()

    @classmethod
    def new(
        cls,
        *,
        project_path: str,
        project_name: str,
        session_type: str,
        role: str,
        work: Work = Work(),
    ) -> Ticket:
        return cls(
            session_id=os.urandom(16).hex(),
            claim=os.urandom(16),
            project_path=project_path,
            project_name=project_name,
            session_type=session_type,
            role=role,
            work=work,
        )

    def pack(self) -> str:
        """The ticket as opaque text."""
        packed = (
            self.session_id,
            self.claim.hex(),
            self.project_path,
            self.project_name,
            self.session_type,
            self.role,
            # Most have none, and an older SDK reads the tickets of those.
            *(_parts(self.work) if self.work != Work() else ()),
        )
        return base64.urlsafe_b64encode(json.dumps(packed).encode()).decode()

    @classmethod
    def unpack(cls, text: str) -> Ticket:
        """Reads what `pack` wrote; anything else is an UndecodableMessage."""
        try:
            session_id, claim, *rest = json.loads(base64.urlsafe_b64decode(text.encode()))
            path, name, session_type, role, *work = rest
            if not all(isinstance(each, str) for each in (session_id, *rest)):
                raise ValueError("not text")
            session_id.encode()  # It goes into every call as it is.
            return cls(
                session_id=session_id,
                claim=bytes.fromhex(claim),
                project_path=path,
                project_name=name,
                session_type=session_type,
                role=role,
                work=Work(**dict(zip(_WORK_FIELDS, work, strict=True))) if work else Work(),
            )
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UndecodableMessage(f"this is not a session's ticket: {error}") from error


_WORK_FIELDS = tuple(each.name for each in fields(Work))


def _parts(work: Work) -> tuple[str, ...]:
    return tuple(getattr(work, name) for name in _WORK_FIELDS)


class Session:
    """Reports what the agent does and asks what it should see.

    Nothing here raises into the agent or waits past its deadline. Methods with an `a` before
    their name are for event loops and answer the same.
    """

    def __init__(
        self,
        client: Client,
        ticket: Ticket,
        task: str = "",
        origin: str = "",
        *,
        vouched: bool = False,
        planned_steps: int = 0,
    ) -> None:
        self.id = ticket.session_id
        self.ticket = ticket.pack()
        self.start = SessionStart()
        self.dropped = 0
        self._client = client
        self._outbox = client.outbox
        self._capacity = client.outbox.capacity
        self._ticket = ticket
        self._task = task
        self._origin = origin
        self._vouched = vouched
        self._planned_steps = min(max(int(planned_steps), 0), MOST_PLANNED)
        self._capability = b""
        self._step = 0
        self.after_fork()

    def after_fork(self) -> None:
        """A forked child reports under a name of its own."""
        self.producer_id = os.urandom(16).hex()
        self._next_sequence = itertools.count(1).__next__
        self._breaker = Breaker()
        self.dropped = 0

    # Observing: the agent's hot path.

    def observe(self, body: Body) -> None:
        """Takes note of what happened; only appends, never waits, never raises."""
        queue = self._outbox.queue
        # The number is taken before the check: a gap tells the sidecar that something was dropped.
        sequence = self._next_sequence()
        if len(queue) < self._capacity:
            queue.append((self, sequence, time.time(), body))
        else:
            self._outbox.drop(self)

    def observe_at(self, seconds: float, body: Body) -> None:
        """Takes note of what happened at another time than now, in seconds since the epoch."""
        self._outbox.offer((self, self._next_sequence(), seconds, body))

    # Injection points.

    def prepare_step(self, step: int) -> Injection:
        """What to show before this model call; empty without memory."""
        self._step = step
        return _shown(self._decide(calls.PREPARE_STEP, lambda: wire.PrepareStepRequest(step=step)))

    async def aprepare_step(self, step: int) -> Injection:
        self._step = step
        return _shown(
            await self._adecide(calls.PREPARE_STEP, lambda: wire.PrepareStepRequest(step=step))
        )

    def augment_tool_result(self, call_id: str) -> Injection:
        """What to append to the result of this tool call; empty without memory."""
        return _shown(self._decide(calls.AUGMENT_TOOL_RESULT, lambda: _result_request(call_id)))

    async def aaugment_tool_result(self, call_id: str) -> Injection:
        return _shown(
            await self._adecide(calls.AUGMENT_TOOL_RESULT, lambda: _result_request(call_id))
        )

    # Tools.

    def search(
        self, query: str, *, types: Sequence[str] = (), files: Sequence[str] = (), limit: int = 0
    ) -> SearchResult:
        """Memories that answer the query; `text` is for the agent and always set."""
        response = self._ask(calls.SEARCH, lambda: _search_request(query, types, files, limit))
        return codec.search_from_wire(response) if response else _NO_SEARCH

    async def asearch(
        self, query: str, *, types: Sequence[str] = (), files: Sequence[str] = (), limit: int = 0
    ) -> SearchResult:
        response = await self._aask(
            calls.SEARCH, lambda: _search_request(query, types, files, limit)
        )
        return codec.search_from_wire(response) if response else _NO_SEARCH

    def record(self, memory: MemoryRecorded) -> str:
        """Hands in what the agent wants remembered; answers with a sentence for it."""
        entry = self._entry_for(memory)
        if entry is None:
            return NOT_RECORDED
        return self._recorded(entry, self._ask(calls.RECORD, wire.RecordRequest, entry))

    async def arecord(self, memory: MemoryRecorded) -> str:
        entry = self._entry_for(memory)
        if entry is None:
            return NOT_RECORDED
        return self._recorded(entry, await self._aask(calls.RECORD, wire.RecordRequest, entry))

    def checkpoint(self, label: str = "") -> bool:
        """Commits what was reported so far; False when it could not be done now."""
        return self._ask(calls.CHECKPOINT, lambda: _checkpoint_request(label)) is not None

    async def acheckpoint(self, label: str = "") -> bool:
        return await self._aask(calls.CHECKPOINT, lambda: _checkpoint_request(label)) is not None

    # The end.

    def complete(
        self, outcome: SessionOutcome = SessionOutcome.SUCCESS, *, validated: bool | None = None
    ) -> SessionSummary:
        """Ends the session after all that was reported; delivered later if it cannot be now."""
        return self._await_end(self._completion(outcome, validated))

    async def acomplete(
        self, outcome: SessionOutcome = SessionOutcome.SUCCESS, *, validated: bool | None = None
    ) -> SessionSummary:
        return await self._aawait_end(self._completion(outcome, validated))

    def report_validation(self, passed: bool, detail: str = "") -> SessionSummary:
        """Says whether the ended session's work proved right."""
        return self._await_end(self._validation(passed, detail))

    async def areport_validation(self, passed: bool, detail: str = "") -> SessionSummary:
        return await self._aawait_end(self._validation(passed, detail))

    # Being known to the sidecar.

    @property
    def is_established(self) -> bool:
        """Whether the sidecar knows this session."""
        return bool(self._capability)

    def forget_capability(self) -> None:
        """The sidecar does not accept it any more; the next delivery asks for a new one."""
        self._capability = b""

    def make_known(self) -> None:
        """Establishes the session unless it is; raises SeamarkError."""
        if not self.is_established:
            self.establish()

    def establish(self, within: float = START_TIMEOUT) -> None:
        """Makes the session known to the sidecar; raises SeamarkError."""
        link = self._client.link
        self._established(link.call(calls.START_SESSION, self._start_request(), within))

    async def aestablish(self, within: float = START_TIMEOUT) -> None:
        link = self._client.link
        self._established(await link.acall(calls.START_SESSION, self._start_request(), within))

    def batch(
        self, entries: Iterable[Entry] = (), room: int = MOST_BYTES
    ) -> tuple[events.EventBatch, int]:
        """As many of the entries as there is room for, at least one, and their number.

        One that cannot be encoded is counted but left out.
        """
        batch = events.EventBatch(
            session_id=self.id,
            producer_id=self.producer_id,
            capability=self._capability,
            dropped_count=self.dropped,
            queued_count=len(self._outbox.queue),
            breaker_open=self._breaker.is_open,
        )
        count = 0
        for entry in entries:
            event = self._encoded(entry)
            if event is not None:
                room -= event.ByteSize()
                if room < 0 and batch.events:
                    break
                batch.events.append(event)
            count += 1
        return batch, count

    def _encoded(self, entry: Entry) -> events.Event | None:
        _, sequence, seconds, body = entry
        try:
            return codec.event_to_wire(sequence, seconds, body)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - what an app hands in can fail in any way
            self._client.warn_of(body, error)
            return None

    def _start_request(self) -> wire.StartSessionRequest:
        ticket = self._ticket
        return wire.StartSessionRequest(
            session_id=ticket.session_id,
            claim=ticket.claim,
            project=wire.ProjectHint(
                path=codec.cut(ticket.project_path, LONGEST_PATH),
                name=codec.cut(ticket.project_name, codec.LONGEST_NAME),
            ),
            session_type=codec.cut(ticket.session_type, codec.LONGEST_NAME),
            role=codec.cut(ticket.role, codec.LONGEST_NAME),
            task=codec.cut(self._task),
            origin=codec.cut(self._origin, codec.LONGEST_NAME),
            vouched=self._vouched,
            planned_step_count=self._planned_steps,
            group=codec.cut(ticket.work.group, codec.LONGEST_NAME),
            parent_session_id=codec.cut(ticket.work.parent_session, codec.LONGEST_NAME),
            methodology=codec.cut(ticket.work.methodology, codec.LONGEST_NAME),
            phase=codec.cut(ticket.work.phase, codec.LONGEST_NAME),
            work_unit=codec.cut(ticket.work.work_unit, codec.LONGEST_NAME),
        )

    def _established(self, response: wire.StartSessionResponse) -> None:
        if not response.capability:
            raise UndecodableMessage("the sidecar returned no capability")
        self.start = codec.start_from_wire(response)
        self._capability = response.capability
        self._client.met_sidecar(response.sidecar_version)

    def _entry_for(self, memory: MemoryRecorded) -> Entry | None:
        seconds = time.time()
        if self._encoded((self, 0, seconds, memory)) is None:
            return None
        return (self, self._next_sequence(), seconds, memory)

    def _decide(
        self, call: calls.Call[Any, calls.Response], request: Callable[[], Any]
    ) -> calls.Response | None:
        step = self._step
        if not self._capability or not self._breaker.allows(step, time.monotonic()):
            return None
        return self._ask(call, request, breaker_step=step)

    async def _adecide(
        self, call: calls.Call[Any, calls.Response], request: Callable[[], Any]
    ) -> calls.Response | None:
        step = self._step
        if not self._capability or not self._breaker.allows(step, time.monotonic()):
            return None
        return await self._aask(call, request, breaker_step=step)

    def _ask(
        self,
        call: calls.Call[Any, calls.Response],
        request: Callable[[], Any],
        *extra: Entry,
        breaker_step: int | None = None,
    ) -> calls.Response | None:
        if self._client.disabled:
            return None
        end = time.monotonic() + self._deadline(call)
        try:
            if not self._capability:
                self.establish(self._start_deadline(end))
            filled = self._filled(request(), extra)
            response = self._client.link.call(call, filled, end - time.monotonic())
        except BaseException as error:  # The agent goes on whatever happens here.
            self._went_without(error, breaker_step)
            if not isinstance(error, Exception):
                raise
            return None
        return self._answered(response, breaker_step)

    async def _aask(
        self,
        call: calls.Call[Any, calls.Response],
        request: Callable[[], Any],
        *extra: Entry,
        breaker_step: int | None = None,
    ) -> calls.Response | None:
        if self._client.disabled:
            return None
        end = time.monotonic() + self._deadline(call)
        try:
            if not self._capability:
                await self.aestablish(self._start_deadline(end))
            filled = self._filled(request(), extra)
            response = await self._client.link.acall(call, filled, end - time.monotonic())
        except BaseException as error:  # The agent goes on whatever happens here.
            self._went_without(error, breaker_step)
            if not isinstance(error, Exception):
                raise
            return None
        return self._answered(response, breaker_step)

    def _deadline(self, call: calls.Call[Any, Any]) -> float:
        settings = self._client.settings
        if call is calls.PREPARE_STEP:
            return settings.step_deadline
        if call is calls.AUGMENT_TOOL_RESULT:
            return settings.tool_result_deadline
        return settings.tool_deadline

    def _start_deadline(self, end: float) -> float:
        return min(self._client.settings.session_start_deadline, end - time.monotonic())

    def _filled(self, request: Any, extra: Sequence[Entry]) -> Any:
        """The request with all that the sidecar may not have seen yet."""
        batch, _ = self.batch(self._outbox.unacknowledged(self))
        batch.events.extend(self.batch(extra)[0].events)
        request.events.CopyFrom(batch)
        return request

    def _answered(self, response: calls.Response, breaker_step: int | None) -> calls.Response:
        self._client.with_memory()
        if breaker_step is not None:
            self._breaker.succeeded()
        return response

    def _went_without(self, error: BaseException, breaker_step: int | None) -> None:
        if isinstance(error, CallRefused) and error.reason in ASK_AGAIN:
            self.forget_capability()
        if isinstance(error, Exception):  # Not when the app itself called it off.
            self._client.without_memory(error)
        if breaker_step is None:
            return
        if isinstance(error, SidecarTooSlow):
            self._breaker.timed_out(breaker_step, time.monotonic())
        else:
            self._breaker.failed()

    def _recorded(self, entry: Entry, response: wire.RecordResponse | None) -> str:
        if response is not None:
            return response.text
        if self._client.disabled:
            return WITHOUT_MEMORY
        # The same sequence as in the call that failed: it cannot be stored twice.
        return NOTED_FOR_LATER if self._outbox.offer(entry) else WITHOUT_MEMORY

    def _completion(
        self, outcome: SessionOutcome, validated: bool | None
    ) -> Future[SessionSummary | None]:
        def run() -> SessionSummary:
            request = wire.CompleteSessionRequest(
                events=self.batch()[0],
                outcome=codec.outcome_to_wire(outcome),
                validation=codec.validation_to_wire(validated),
            )
            response = self._errand_call(calls.COMPLETE_SESSION, request)
            return codec.summary_from_wire(response.summary)

        return self._client.errand(self, run)

    def _validation(self, passed: bool, detail: str) -> Future[SessionSummary | None]:
        def run() -> SessionSummary:
            request = wire.ReportValidationRequest(
                session_id=self.id,
                capability=self._capability,
                passed=bool(passed),
                detail=codec.cut(detail, codec.LONGEST_NAME),
            )
            response = self._errand_call(calls.REPORT_VALIDATION, request)
            return codec.summary_from_wire(response.summary)

        return self._client.errand(self, run)

    def _errand_call(self, call: calls.Call[Any, calls.Response], request: Any) -> calls.Response:
        if not self._capability:
            self.establish()
            if hasattr(request, "events"):
                request.events.capability = self._capability
            else:
                request.capability = self._capability
        try:
            return self._client.link.call(call, request, self._client.settings.tool_deadline)
        except CallRefused as error:
            if error.reason in ASK_AGAIN:
                self.forget_capability()
            raise

    def _await_end(self, pending: Future[SessionSummary | None]) -> SessionSummary:
        try:
            summary = pending.result(self._client.settings.close_deadline)
        except FutureTimeout:
            return _ENDS_LATER
        return summary or self._not_taken()

    async def _aawait_end(self, pending: Future[SessionSummary | None]) -> SessionSummary:
        try:
            # Cancels the waiting when time is up, not the errand.
            summary = await asyncio.wait_for(
                asyncio.wrap_future(pending), self._client.settings.close_deadline
            )
        except TimeoutError:
            return _ENDS_LATER
        return summary or self._not_taken()

    def _not_taken(self) -> SessionSummary:
        if self._client.disabled:
            return SessionSummary()
        why = self._client.why_without_memory
        return SessionSummary(line=f"{NOT_TAKEN}: {why}" if why else f"{NOT_TAKEN}.")


_NO_SEARCH = SearchResult(text=WITHOUT_MEMORY)
_ENDS_LATER = SessionSummary(line=DELIVERED_LATER)


def _shown(
    response: wire.PrepareStepResponse | wire.AugmentToolResultResponse | None,
) -> Injection:
    return codec.injection_from_wire(response.injection) if response else NOTHING


def _result_request(call_id: str) -> wire.AugmentToolResultRequest:
    return wire.AugmentToolResultRequest(call_id=codec.cut(call_id, codec.LONGEST_NAME))


def _checkpoint_request(label: str) -> wire.CheckpointRequest:
    return wire.CheckpointRequest(label=codec.cut(label, codec.LONGEST_NAME))


def _search_request(
    query: str, types: Sequence[str], files: Sequence[str], limit: int
) -> wire.SearchRequest:
    return wire.SearchRequest(
        query=codec.cut(str(query), 4096),
        types=[codec.cut(str(each), 64) for each in types][: codec.MOST_NAMES],
        files=[codec.cut(str(each), codec.LONGEST_NAME) for each in files][: codec.MOST_NAMES],
        limit=max(0, min(int(limit), 100)),
    )
