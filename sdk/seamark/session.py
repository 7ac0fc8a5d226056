"""One run of one agent, as its own process sees it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import secrets
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
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
DELIVERED_LATER = "Memory cannot be reached right now; the end of the session is delivered later."
START_TIMEOUT = 2.0  # seconds, on the sender's thread only


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What is needed to continue a session from anywhere: its name, its secret, its project."""

    session_id: str
    claim: bytes
    project_path: str = ""
    project_name: str = ""
    session_type: str = ""
    role: str = ""

    @classmethod
    def new(cls, *, project_path: str, project_name: str, session_type: str, role: str) -> Ticket:
        return cls(
            session_id=uuid.uuid4().hex,
            claim=secrets.token_bytes(16),
            project_path=project_path,
            project_name=project_name,
            session_type=session_type,
            role=role,
        )

    def pack(self) -> str:
        """The ticket as opaque text."""
        fields = (
            self.session_id,
            self.claim.hex(),
            self.project_path,
            self.project_name,
            self.session_type,
            self.role,
        )
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode()

    @classmethod
    def unpack(cls, text: str) -> Ticket:
        """Reads what `pack` wrote; anything else is an UndecodableMessage."""
        try:
            session_id, claim, *rest = json.loads(base64.urlsafe_b64decode(text.encode()))
            path, name, session_type, role = rest
            if not all(isinstance(each, str) for each in (session_id, *rest)):
                raise ValueError("not text")
            return cls(
                session_id=session_id,
                claim=bytes.fromhex(claim),
                project_path=path,
                project_name=name,
                session_type=session_type,
                role=role,
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise UndecodableMessage(f"this is not a session's ticket: {error}") from error


class Session:
    """Reports what the agent does and asks what it should see.

    Nothing here raises into the agent or waits past its deadline. Methods with an `a` before
    their name are for event loops and answer the same.
    """

    def __init__(self, client: Client, ticket: Ticket, task: str = "") -> None:
        self.id = ticket.session_id
        self.ticket = ticket.pack()
        self.start = SessionStart()
        self.dropped = 0
        self._client = client
        self._outbox = client.outbox
        self._capacity = client.outbox.capacity
        self._ticket = ticket
        self._task = task
        self._breaker = Breaker()
        self._capability = b""
        self._step = 0
        self.after_fork()

    def after_fork(self) -> None:
        """A forked child reports under a name of its own."""
        self.producer_id = uuid.uuid4().hex
        self._next_sequence = itertools.count(1).__next__
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

    # Injection points.

    def prepare_step(self, step: int) -> Injection:
        """What to show before this model call; empty without memory."""
        request = wire.PrepareStepRequest(step=step)
        response = self._decide(calls.PREPARE_STEP, request, self._client.settings.step_deadline)
        return codec.injection_from_wire(response.injection) if response else NOTHING

    async def aprepare_step(self, step: int) -> Injection:
        request = wire.PrepareStepRequest(step=step)
        response = await self._adecide(
            calls.PREPARE_STEP, request, self._client.settings.step_deadline
        )
        return codec.injection_from_wire(response.injection) if response else NOTHING

    def augment_tool_result(self, call_id: str) -> Injection:
        """What to append to the result of this tool call; empty without memory."""
        request = wire.AugmentToolResultRequest(call_id=codec.cut(call_id, codec.LONGEST_NAME))
        response = self._decide(
            calls.AUGMENT_TOOL_RESULT, request, self._client.settings.tool_result_deadline
        )
        return codec.injection_from_wire(response.injection) if response else NOTHING

    async def aaugment_tool_result(self, call_id: str) -> Injection:
        request = wire.AugmentToolResultRequest(call_id=codec.cut(call_id, codec.LONGEST_NAME))
        response = await self._adecide(
            calls.AUGMENT_TOOL_RESULT, request, self._client.settings.tool_result_deadline
        )
        return codec.injection_from_wire(response.injection) if response else NOTHING

    # Tools.

    def search(
        self, query: str, *, types: Sequence[str] = (), files: Sequence[str] = (), limit: int = 0
    ) -> SearchResult:
        """Memories that answer the query; `text` is for the agent and always set."""
        response = self._ask(calls.SEARCH, _search_request(query, types, files, limit))
        return codec.search_from_wire(response) if response else _NO_SEARCH

    async def asearch(
        self, query: str, *, types: Sequence[str] = (), files: Sequence[str] = (), limit: int = 0
    ) -> SearchResult:
        response = await self._aask(calls.SEARCH, _search_request(query, types, files, limit))
        return codec.search_from_wire(response) if response else _NO_SEARCH

    def record(self, memory: MemoryRecorded) -> str:
        """Hands in what the agent wants remembered; answers with a sentence for it."""
        entry = self._entry(memory)
        response = self._ask(calls.RECORD, wire.RecordRequest(), entry)
        return self._recorded(entry, response)

    async def arecord(self, memory: MemoryRecorded) -> str:
        entry = self._entry(memory)
        response = await self._aask(calls.RECORD, wire.RecordRequest(), entry)
        return self._recorded(entry, response)

    def checkpoint(self, label: str = "") -> bool:
        """Commits what was reported so far; False when it could not be done now."""
        request = wire.CheckpointRequest(label=codec.cut(label, codec.LONGEST_NAME))
        return self._ask(calls.CHECKPOINT, request) is not None

    async def acheckpoint(self, label: str = "") -> bool:
        request = wire.CheckpointRequest(label=codec.cut(label, codec.LONGEST_NAME))
        return await self._aask(calls.CHECKPOINT, request) is not None

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

    def establish(self, within: float = START_TIMEOUT) -> None:
        """Makes the session known to the sidecar; raises SeamarkError."""
        link = self._client.link
        self._established(link.call(calls.START_SESSION, self._start_request(), within))

    async def aestablish(self, within: float = START_TIMEOUT) -> None:
        link = self._client.link
        self._established(await link.acall(calls.START_SESSION, self._start_request(), within))

    def batch(self, entries: Sequence[Entry]) -> events.EventBatch:
        """The entries as the wire wants them; one that cannot be encoded is left out."""
        batch = events.EventBatch(
            session_id=self.id,
            producer_id=self.producer_id,
            capability=self._capability,
            dropped_count=self.dropped,
        )
        for _, sequence, seconds, body in entries:
            try:
                batch.events.append(codec.event_to_wire(sequence, seconds, body))  # type: ignore[arg-type]
            except (TypeError, ValueError, AttributeError) as error:
                self._client.refused(body, error)
        return batch

    def _start_request(self) -> wire.StartSessionRequest:
        ticket = self._ticket
        return wire.StartSessionRequest(
            session_id=ticket.session_id,
            claim=ticket.claim,
            project=wire.ProjectHint(path=ticket.project_path, name=ticket.project_name),
            session_type=ticket.session_type,
            role=ticket.role,
            task=codec.cut(self._task),
        )

    def _established(self, response: wire.StartSessionResponse) -> None:
        if not response.capability:
            raise UndecodableMessage("the sidecar returned no capability")
        self.start = codec.start_from_wire(response)
        self._capability = response.capability

    def _entry(self, body: Body) -> Entry:
        return (self, self._next_sequence(), time.time(), body)

    def _decide(
        self, call: calls.Call[Any, calls.Response], request: Any, deadline: float
    ) -> calls.Response | None:
        step = self._step = getattr(request, "step", self._step)
        if not self._capability or not self._breaker.allows(step, time.monotonic()):
            return None
        return self._ask(call, request, deadline=deadline, breaker_step=step)

    async def _adecide(
        self, call: calls.Call[Any, calls.Response], request: Any, deadline: float
    ) -> calls.Response | None:
        step = self._step = getattr(request, "step", self._step)
        if not self._capability or not self._breaker.allows(step, time.monotonic()):
            return None
        return await self._aask(call, request, deadline=deadline, breaker_step=step)

    def _ask(
        self,
        call: calls.Call[Any, calls.Response],
        request: Any,
        *extra: Entry,
        deadline: float | None = None,
        breaker_step: int | None = None,
    ) -> calls.Response | None:
        if self._client.disabled:
            return None
        try:
            if not self._capability:
                self.establish(self._client.settings.session_start_deadline)
            self._attach(request, extra)
            response = self._client.link.call(
                call, request, deadline or self._client.settings.tool_deadline
            )
        except Exception as error:  # noqa: BLE001 - the agent goes on whatever happens here
            self._went_without(error, breaker_step)
            return None
        return self._answered(response, breaker_step)

    async def _aask(
        self,
        call: calls.Call[Any, calls.Response],
        request: Any,
        *extra: Entry,
        deadline: float | None = None,
        breaker_step: int | None = None,
    ) -> calls.Response | None:
        if self._client.disabled:
            return None
        try:
            if not self._capability:
                await self.aestablish(self._client.settings.session_start_deadline)
            self._attach(request, extra)
            response = await self._client.link.acall(
                call, request, deadline or self._client.settings.tool_deadline
            )
        except Exception as error:  # noqa: BLE001 - the agent goes on whatever happens here
            self._went_without(error, breaker_step)
            return None
        return self._answered(response, breaker_step)

    def _attach(self, request: Any, extra: Sequence[Entry]) -> None:
        request.events.CopyFrom(self.batch([*self._outbox.unacknowledged(self), *extra]))

    def _answered(self, response: calls.Response, breaker_step: int | None) -> calls.Response:
        self._client.with_memory()
        if breaker_step is not None:
            self._breaker.succeeded()
        return response

    def _went_without(self, error: Exception, breaker_step: int | None) -> None:
        if isinstance(error, CallRefused) and error.reason in _ASK_AGAIN:
            self.forget_capability()
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
        self._outbox.queue.append(entry)
        return NOTED_FOR_LATER

    def _completion(
        self, outcome: SessionOutcome, validated: bool | None
    ) -> Future[SessionSummary | None]:
        def run() -> SessionSummary:
            request = wire.CompleteSessionRequest(
                events=self.batch(()),
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
            if error.reason in _ASK_AGAIN:
                self.forget_capability()
            raise

    def _await_end(self, pending: Future[SessionSummary | None]) -> SessionSummary:
        try:
            summary = pending.result(self._client.settings.close_deadline)
        except FutureTimeout:
            return _ENDS_LATER
        return summary or _ENDS_LATER

    async def _aawait_end(self, pending: Future[SessionSummary | None]) -> SessionSummary:
        try:
            summary = await asyncio.wait_for(
                asyncio.shield(asyncio.wrap_future(pending)),
                self._client.settings.close_deadline,
            )
        except TimeoutError:
            return _ENDS_LATER
        return summary or _ENDS_LATER


_NO_SEARCH = SearchResult(text=WITHOUT_MEMORY)
_ENDS_LATER = SessionSummary(line=DELIVERED_LATER)
# A sidecar with a new data directory, or a new key, does not know the session any more.
_ASK_AGAIN = frozenset({"UNKNOWN_SESSION", "WRONG_CAPABILITY"})


def _search_request(
    query: str, types: Sequence[str], files: Sequence[str], limit: int
) -> wire.SearchRequest:
    return wire.SearchRequest(
        query=codec.cut(str(query), 4096),
        types=[codec.cut(str(each), 64) for each in types][: codec.MOST_NAMES],
        files=[codec.cut(str(each), codec.LONGEST_NAME) for each in files][: codec.MOST_NAMES],
        limit=max(0, min(int(limit), 100)),
    )
