"""What was seen so far in a session, in the words of the wire."""

from __future__ import annotations

import itertools
import json

from seamark.injections import SessionState
from seamark.wire.v1 import operator_pb2 as wire
from seamark.wire.v1 import sidecar_pb2
from seamark_sidecar.api.ports import Library
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.errors import BadRequest, SessionClosed, UnknownSession
from seamark_sidecar.model.secrets import redact
from seamark_sidecar.model.signal import Signal
from seamark_sidecar.observer.history import CallNote, History, TestNote
from seamark_sidecar.sessions.groups import Groups
from seamark_sidecar.sessions.live import LiveSession
from seamark_sidecar.sessions.projects import Projects
from seamark_sidecar.sessions.sessions import Sessions


class Observation:
    """Looks at sessions without touching them."""

    def __init__(
        self, sessions: Sessions, library: Library, projects: Projects, groups: Groups
    ) -> None:
        self._groups = groups
        self._sessions = sessions
        self._library = library
        self._projects = projects

    async def of(self, request: wire.ObserveSessionRequest) -> wire.ObserveSessionResponse:
        """What the session that the request means holds at this moment."""
        live = await self._found(request)
        names = await self._library.projects()

        async def look() -> wire.ObserveSessionResponse:
            await self._sessions.put_in_order(live)
            answer = _head(live, names[live.record.project_id].name)
            if request.known_event_count == live.pad.event_count:
                answer.unchanged = True
            else:
                _fill(answer, live, request.known_call_count)
                # What shows only when all sessions of a group are looked at.
                answer.signals.extend(map(_signal, self._groups.conflicts(live.record)))
            return answer

        # After all that is being committed, so that nothing is missed when it is put in order.
        return await live.commit(lambda: live.run(look))

    async def _found(self, request: wire.ObserveSessionRequest) -> LiveSession:
        if not request.session_id:
            return await self._latest(request.project)
        found = await self._library.find_session(request.session_id)
        if not found:
            raise UnknownSession(f"no session begins with {request.session_id[:40]!r}")
        if len(found) > 1 and found[0].id != request.session_id:
            raise BadRequest(
                "more than one session begins so: " + ", ".join(each.id[:16] for each in found)
            )
        live = await self._sessions.restore(found[0].id)
        if live is None or live.record.state is SessionState.CLOSED:
            raise SessionClosed(
                f"the session {found[0].id[:16]} has ended; "
                f"what it taught: seamark explain {found[0].id[:16]}"
            )
        return live

    async def _latest(self, hint: sidecar_pb2.ProjectHint) -> LiveSession:
        project_id = ""
        if hint.path or hint.name:
            project, _ = await self._projects.at(hint.path, hint.name)
            project_id = project.id
        lives = [
            live
            for live in self._sessions
            if live.record.state is SessionState.OPEN and project_id in {"", live.record.project_id}
        ]
        if not lives:
            raise UnknownSession("no session is under way")
        return max(lives, key=lambda live: (live.last_seen, live.record.id))


def _head(live: LiveSession, project_name: str) -> wire.ObserveSessionResponse:
    record = live.record
    head = wire.ObserveSessionResponse(
        session_id=record.id,
        project_name=project_name,
        state=record.state.value,
        session_type=record.type,
        origin=record.origin,
        task=record.task,
        event_count=live.pad.event_count,
        step=live.pad.step,
    )
    head.start_time.FromDatetime(record.started)
    head.last_seen_time.FromDatetime(live.last_seen)
    return head


def _fill(answer: wire.ObserveSessionResponse, live: LiveSession, known_calls: int) -> None:
    pad = live.pad
    history = pad.history
    answer.actions.extend(
        wire.ActionCount(action=action, count=count)
        for action, count in sorted(history.actions.items())
    )
    answer.files.extend(
        wire.ObservedFile(path=path, reads=each.reads, edits=each.edits, writes=each.writes)
        for path, each in history.files.items()
    )
    answer.files.extend(
        wire.ObservedFile(path=path) for path in history.named if path not in history.files
    )
    answer.tests.extend(map(_tests, history.tests))
    answer.signals.extend(map(_signal, pad.signals()))
    answer.candidates.extend(map(_candidate, live.candidates()))
    first = _first(history, known_calls)
    answer.calls.extend(map(_call, itertools.islice(history.calls, first, None)))
    if pad.tainted_from is not None:
        answer.tainted_from_step = pad.tainted_from
    answer.event_us_p50 = pad.cost.microseconds(0.5)
    answer.event_us_p99 = pad.cost.microseconds(0.99)
    answer.scratchpad_bytes = pad.size()


def _first(history: History, known: int) -> int:
    """Where the calls begin that the caller does not know; the oldest of very many are gone."""
    gone = sum(history.actions.values()) - len(history.calls)
    return max(0, known - gone)


def _tests(note: TestNote) -> wire.ObservedTests:
    return wire.ObservedTests(step=note.step, passed=note.tests.passed, failed=note.tests.failed)


def _call(note: CallNote) -> wire.ObservedCall:
    return wire.ObservedCall(step=note.step, tool=note.tool, action=note.action, files=note.files)


def _signal(signal: Signal) -> wire.ObservedSignal:
    details = {
        name: redact(value).text if isinstance(value, str) else value
        for name, value in signal.details.items()
    }
    return wire.ObservedSignal(
        type=signal.kind,
        step=signal.step,
        confidence=signal.confidence,
        files=signal.files,
        details_json=json.dumps(details, allow_nan=False),
        content=redact(signal.content).text,
    )


def _candidate(candidate: Candidate) -> wire.ObservedCandidate:
    return wire.ObservedCandidate(
        signal=candidate.signal,
        type=candidate.type,
        content=redact(candidate.content).text,
        files=candidate.files,
        step=candidate.step,
        contaminated_by=candidate.contaminated_by,
    )
