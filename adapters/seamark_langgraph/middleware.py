"""The middleware that gives an agent its memory."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from seamark import Client, Injection, Session, SessionSummary
from seamark_langgraph import _place, _translate
from seamark_langgraph._guard import Faults
from seamark_langgraph._reports import Reports
from seamark_langgraph._sessions import Sessions
from seamark_langgraph._state import Frozen, SeamarkState
from seamark_langgraph._tools import memory_tools
from seamark_langgraph._verdict import Validate, averdict, verdict

log = logging.getLogger("seamark")

NOTHING = Injection()
BETWEEN_RUNS = Frozen()

ModelAnswer = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]
ToolAnswer = ToolMessage | Command[Any]


class SeamarkMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Memory for an agent: `create_agent(model, tools, middleware=[SeamarkMiddleware()])`.

    Every run is a session of its own. Without a sidecar the agent runs as if this were not there.
    Agents and threads may share one middleware if their work is validated together, or by
    `validate`.

    Args:
        client: The way to the sidecar; None makes one from `SEAMARK_*` when it is first needed.
        project: A path inside the checkout; None means the current directory when a run starts.
        project_name: A name for work without a checkout.
        session_type: What kind of work it is; decides what it takes to learn from it.
        role: What the app calls this agent.
        group: Agents with the same one work at the same time on the same thing: each finds what
            the others found, marked as not validated, and it is put together when the last ends.
        methodology: How the work is organised: `native`, `tdd`, `bmad` or a plugin's.
        phase: Where it stands, in the methodology's own words.
        work_unit: What is worked on, from the outside in: `spec_042/subtask_3`.
        planned_steps: How many model calls were planned for it.
        validate: Called at the end of a run; says whether its work proved right. Without it,
            `complete` does.
        tools: The memory tools that the agent gets.
        inject: False only observes: nothing from memory reaches the agent, so no tools either.
    """

    state_schema = SeamarkState

    def __init__(
        self,
        *,
        client: Client | None = None,
        project: str | Path | None = None,
        project_name: str = "",
        session_type: str = "build",
        role: str = "",
        group: str = "",
        methodology: str = "",
        phase: str = "",
        work_unit: str = "",
        planned_steps: int = 0,
        validate: Validate | None = None,
        tools: Collection[str] = ("search_memory", "record_memory"),
        inject: bool = True,
    ) -> None:
        super().__init__()
        self._project = project
        self._project_name = project_name
        self._session_type = session_type
        self._role = role
        self._work: dict[str, Any] = {
            "group": group,
            "methodology": methodology,
            "phase": phase,
            "work_unit": work_unit,
            "planned_steps": planned_steps,
        }
        self._validate = validate
        self._inject = inject
        self._faults = Faults()
        self._reports = Reports(self._faults)
        self._sessions = Sessions(client, self._faults)
        offered = memory_tools(self._sessions.session_of, self._faults)
        chosen = {tools} if isinstance(tools, str) else set(tools)
        for name in sorted(chosen - offered.keys()):
            log.warning("there is no memory tool %r; known are %s", name, ", ".join(offered))
        self.tools = [tool for name, tool in offered.items() if inject and name in chosen]

    @property
    def last_summary(self) -> SessionSummary:
        """How the session that ended last stands."""
        return self._sessions.last_summary

    def complete(self, validated: bool, detail: str = "") -> SessionSummary:
        """Says whether the work of every run that awaits it proved right.

        A run that stopped half-way, at an exception or an interrupt, ends here; runs whose model
        or tools are at work right now are left alone.

        Args:
            validated: Whether the tests passed, the review was done, the user is content.
            detail: What was run, and how it ended.
        """
        return self._sessions.complete(validated, detail)

    async def acomplete(self, validated: bool, detail: str = "") -> SessionSummary:
        """The same without blocking the event loop."""
        return await self._sessions.acomplete(validated, detail)

    def close(self) -> None:
        """Ends the sessions that are still open, and lets go of the sidecar."""
        self._sessions.close()

    # The start of a run.

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Starts the run's session, unless the run goes on with the one it has."""
        frozen = BETWEEN_RUNS
        with self._faults.guarded("start a session"):
            if self._goes_on(state):
                return None
            client = self._sessions.client
            if not client.disabled:
                frozen = self._begun(state, client.start_session(**self._opening(state)))
        return _changed(state, frozen)

    async def abefore_agent(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """The same without blocking the event loop."""
        frozen = BETWEEN_RUNS
        with self._faults.guarded("start a session"):
            if self._goes_on(state):
                return None
            client = self._sessions.client
            if not client.disabled:
                frozen = self._begun(state, await client.astart_session(**self._opening(state)))
        return _changed(state, frozen)

    # Around each model call.

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelAnswer:
        """Shows the model what memory has for this step; reports what it says."""
        run = self._sessions.run_of(request.state)
        if run is None:
            return handler(self._undressed(request))
        injection = NOTHING
        with self._faults.guarded("prepare a step"):
            step = run.next_step()
            if self._inject:
                injection = run.session.prepare_step(step)
        dressed = self._dressed(request, injection)
        with run.working():
            response = handler(dressed)
        self._reports.answered(run, response)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelAnswer:
        """The same without blocking the event loop."""
        run = self._sessions.run_of(request.state)
        if run is None:
            return await handler(self._undressed(request))
        injection = NOTHING
        with self._faults.guarded("prepare a step"):
            step = run.next_step()
            if self._inject:
                injection = await run.session.aprepare_step(step)
        dressed = self._dressed(request, injection)
        with run.working():
            response = await handler(dressed)
        self._reports.answered(run, response)
        return response

    # Around each tool call.

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]
    ) -> ToolAnswer:
        """Reports the call with its result; appends what memory knows to the result."""
        run = self._sessions.run_of(request.state)
        if run is None or self._is_ours(request):
            return handler(request)
        call_id = self._reports.called(run, request.tool_call)
        with run.working(partial(self._reports.raised, run, call_id)):
            result = handler(request)
        # Before anything is appended: memory must not learn from itself.
        self._reports.returned(run, call_id, result)
        injection = NOTHING
        if self._is_augmentable(request, result):
            with self._faults.guarded("augment a tool result"):
                injection = run.session.augment_tool_result(call_id)
        return self._augmented(result, injection)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]],
    ) -> ToolAnswer:
        """The same without blocking the event loop."""
        run = self._sessions.run_of(request.state)
        if run is None or self._is_ours(request):
            return await handler(request)
        call_id = self._reports.called(run, request.tool_call)
        with run.working(partial(self._reports.raised, run, call_id)):
            result = await handler(request)
        # Before anything is appended: memory must not learn from itself.
        self._reports.returned(run, call_id, result)
        injection = NOTHING
        if self._is_augmentable(request, result):
            with self._faults.guarded("augment a tool result"):
                injection = await run.session.aaugment_tool_result(call_id)
        return self._augmented(result, injection)

    # The end of a run.

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ends the run's session; what it taught waits for the verdict."""
        run = self._sessions.run_of(state)
        if run is not None:
            validated = None
            if self._validate is not None:
                with self._faults.guarded("run the app's validate callable"):
                    validated = verdict(self._validate)
            with self._faults.guarded("end a session"):
                self._sessions.ended(run, run.session.complete(validated=validated), validated)
        return _changed(state, BETWEEN_RUNS)

    async def aafter_agent(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """The same without blocking the event loop."""
        run = self._sessions.run_of(state)
        if run is not None:
            validated = None
            if self._validate is not None:
                with self._faults.guarded("run the app's validate callable"):
                    validated = await averdict(self._validate)
            with self._faults.guarded("end a session"):
                summary = await run.session.acomplete(validated=validated)
                self._sessions.ended(run, summary, validated)
        return _changed(state, BETWEEN_RUNS)

    def _goes_on(self, state: AgentState[Any]) -> bool:
        """Whether a run that never ended goes on, because nobody asked for anything new."""
        is_asked = bool(_translate.new_user_messages(state["messages"]))
        return not is_asked and self._sessions.run_of(state) is not None

    def _opening(self, state: AgentState[Any]) -> dict[str, Any]:
        said = _translate.new_user_messages(state["messages"])
        return {
            "project_path": str(Path(self._project).absolute()) if self._project else None,
            "project_name": self._project_name,
            "session_type": self._session_type,
            "role": self._role,
            **self._work,
            "task": _translate.user_said(said[-1]).text if said else "",
        }

    def _begun(self, state: AgentState[Any], session: Session) -> Frozen:
        said = _translate.new_user_messages(state["messages"])
        self._reports.said(self._sessions.begun(session), said)
        if not self._inject:
            return Frozen(ticket=session.ticket)
        return Frozen(
            ticket=session.ticket,
            system=session.start.system.text,
            first_message=session.start.first_message.text,
            first_message_id=(said[0].id or "") if said else "",
        )

    def _dressed(self, request: ModelRequest[Any], injection: Injection) -> ModelRequest[Any]:
        with self._faults.guarded("place injected text"):
            if self._inject:
                frozen = Frozen.from_state(request.state)
                return _place.with_memory(request, frozen, injection.text)
        return request

    def _undressed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        with self._faults.guarded("withhold the memory tools"):
            if self._sessions.client.disabled:
                return _place.without_tools(request, self.tools)
        return request

    def _augmented(self, result: ToolAnswer, injection: Injection) -> ToolAnswer:
        with self._faults.guarded("place injected text"):
            if injection and isinstance(result, ToolMessage):
                return _place.appended(result, injection.text)
        return result

    def _is_augmentable(self, request: ToolCallRequest, result: ToolAnswer) -> bool:
        # What a tool returns directly is the app's answer; no model reads it.
        is_direct = request.tool is not None and request.tool.return_direct
        return self._inject and isinstance(result, ToolMessage) and not is_direct

    def _is_ours(self, request: ToolCallRequest) -> bool:
        # By identity: the app may have a tool of the same name.
        return any(request.tool is tool for tool in self.tools)


def _changed(state: object, frozen: Frozen) -> dict[str, Any] | None:
    return None if Frozen.from_state(state) == frozen else frozen.as_update()
