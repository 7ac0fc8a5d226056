"""The calls of the command line: what a person asks of their own sidecar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from seamark import codec
from seamark.wire.v1 import operator_pb2 as wire
from seamark.wire.v1 import operator_pb2_grpc
from seamark_sidecar.api.door import Context, rpc
from seamark_sidecar.api.observation import Observation
from seamark_sidecar.api.ports import Library
from seamark_sidecar.injection.injector import Finder, hit
from seamark_sidecar.model.errors import BadRequest, SecretFound, UnknownSession
from seamark_sidecar.model.memory import Memory, MemoryType, Source, new_memory_id
from seamark_sidecar.model.project import Project
from seamark_sidecar.model.secrets import find_secrets, redact
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.observer.calls.paths import project_path
from seamark_sidecar.promotion.taxonomy import TAUGHT_CONFIDENCE, WORTH
from seamark_sidecar.retrieval.shelves import Shelves
from seamark_sidecar.sessions.projects import Projects

LONGEST_CONTENT = 8192
LONGEST_TAG = 100
LONGEST_QUERY = 4096
DEFAULT_LIMIT = 20
MOST_LISTED = 1000


class OperatorServicer(operator_pb2_grpc.OperatorServiceServicer):
    """Answers OperatorService."""

    def __init__(
        self,
        library: Library,
        shelves: Shelves,
        finder: Finder,
        projects: Projects,
        now: Callable[[], datetime],
        observation: Observation,
    ) -> None:
        self._library = library
        self._shelves = shelves
        self._finder = finder
        self._projects = projects
        self._now = now
        self._observation = observation

    @rpc
    async def Remember(
        self, request: wire.RememberRequest, context: Context
    ) -> wire.RememberResponse:
        project, root = await self._projects.at(request.project.path, request.project.name)
        memory, redacted = self._memory(request, project, root)
        stored = await self._library.put(memory)
        await self._shelves.put([stored])
        return wire.RememberResponse(memory=_record(stored, project.name), redacted_count=redacted)

    @rpc
    async def FindMemories(
        self, request: wire.FindMemoriesRequest, context: Context
    ) -> wire.FindMemoriesResponse:
        project, _ = await self._projects.at(request.project.path, request.project.name)
        query = codec.cut(request.query, LONGEST_QUERY)
        found = await self._finder.find(project.id, query, limit=_limit(request.limit))
        return wire.FindMemoriesResponse(hits=[codec.hit_to_wire(hit(each)) for each in found])

    @rpc
    async def ListMemories(
        self, request: wire.ListMemoriesRequest, context: Context
    ) -> wire.ListMemoriesResponse:
        project_id = None
        if not request.every_project:
            project, _ = await self._projects.at(request.project.path, request.project.name)
            project_id = project.id
        memories = await self._library.latest(project_id, _limit(request.limit))
        names = await self._library.projects()
        return wire.ListMemoriesResponse(
            memories=[_record(each, names[each.project_id].name) for each in memories]
        )

    @rpc
    async def ExplainSession(
        self, request: wire.ExplainSessionRequest, context: Context
    ) -> wire.ExplainSessionResponse:
        found = await self._library.find_session(request.session_id)
        if not found:
            raise UnknownSession(
                f"no session begins with {request.session_id[:40]!r}"
                if request.session_id
                else "there has been no session yet"
            )
        if request.session_id and len(found) > 1 and found[0].id != request.session_id:
            raise BadRequest(
                "more than one session begins so: " + ", ".join(each.id[:16] for each in found)
            )
        session = found[0]
        names = await self._library.projects()
        answer = wire.ExplainSessionResponse(
            session_id=session.id,
            project_name=names[session.project_id].name,
            state=session.state.value,
            line=session.summary.line if session.summary else "",
            candidates=[
                wire.CandidateFate(
                    signal=each.candidate.signal,
                    type=each.candidate.type,
                    content=each.candidate.content,
                    fate=each.fate,
                    reason=each.reason,
                    release=each.release,
                    memory_id=each.memory_id,
                )
                for each in await self._library.verdicts(session.id)
            ],
            injections=[
                wire.InjectionRecord(
                    point=each.point,
                    step=each.step,
                    memory_id=each.memory_id,
                    label=each.label,
                    reason=each.reason,
                )
                for each in await self._library.shown(session.id)
            ],
        )
        answer.start_time.FromDatetime(session.started)
        return answer

    @rpc
    async def ObserveSession(
        self, request: wire.ObserveSessionRequest, context: Context
    ) -> wire.ObserveSessionResponse:
        return await self._observation.of(request)

    def _memory(
        self, request: wire.RememberRequest, project: Project, root: str
    ) -> tuple[Memory, int]:
        type_ = MemoryType.named(request.type or MemoryType.GOTCHA)
        if type_ is None:
            raise BadRequest(
                f"{request.type[:40]!r} is not a type of memory; use one of {', '.join(MemoryType)}"
            )
        content = " ".join(request.content.split())
        if not content:
            raise BadRequest("the text is empty; say what should be remembered")
        if len(content) > LONGEST_CONTENT:
            raise BadRequest(
                f"the text has {len(content)} characters; a memory has at most {LONGEST_CONTENT}"
            )
        spans = find_secrets(content)
        if spans and not request.redact:
            places = ", ".join(f"{each.rule} at character {each.start + 1}" for each in spans[:5])
            raise SecretFound(
                f"the text holds a secret ({places}); take it out, or store it with --redact"
            )
        tags = tuple(codec.cut(tag, LONGEST_TAG) for tag in request.tags[: codec.MOST_NAMES])
        if any(map(find_secrets, (*tags, *request.files))):
            raise SecretFound("a tag or a file's name holds a secret; leave it out")
        now = self._now()
        memory = Memory(
            id=new_memory_id(),
            project_id=project.id,
            type=type_,
            content=redact(content).text,
            confidence=TAUGHT_CONFIDENCE
            if request.interactive
            else WORTH[SignalKind.RECORDED].confidence,
            source=Source.USER_TAUGHT if request.interactive else Source.AGENT_EXPLICIT,
            signal=SignalKind.RECORDED,
            files=tuple(_inside(request.files, root)),
            tags=tags,
            created=now,
            accessed=now,
            pinned=request.pinned and request.interactive,
            # Not typed by a person at a terminal: an agent's shell can run this command too.
            needs_review=not request.interactive,
        )
        return memory, len(spans)


def _inside(files: Sequence[str], root: str) -> list[str]:
    inside = []
    for file in files[: codec.MOST_NAMES]:
        path = project_path(codec.cut(file, codec.LONGEST_NAME), root)
        if path is None:
            raise BadRequest(f"the file {file[:100]!r} is not inside the project")
        inside.append(path)
    return inside


def _limit(limit: int) -> int:
    return min(limit or DEFAULT_LIMIT, MOST_LISTED)


def _record(memory: Memory, project_name: str) -> wire.MemoryRecord:
    record = wire.MemoryRecord(
        memory_id=memory.id,
        project_id=memory.project_id,
        project_name=project_name,
        type=memory.type,
        content=memory.content,
        files=memory.files,
        tags=memory.tags,
        confidence=memory.confidence,
        source=memory.source,
        session_id=memory.sessions[-1] if memory.sessions else "",
        label=memory.label,
        access_count=memory.access_count,
        pinned=memory.pinned,
        needs_review=memory.needs_review,
    )
    record.create_time.FromDatetime(memory.created)
    return record
