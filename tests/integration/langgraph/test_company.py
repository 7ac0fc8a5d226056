"""Other middleware around ours, and streams of tokens and updates."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from seamark import Outcome, StepCompleted, TextKind, TextProduced, ToolCalled, ToolReturned
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.scripted import (
    ASKED,
    WAYS,
    ScriptedModel,
    StreamingModel,
    calls,
    play,
)

SCRIPT = [calls(("read_file", "c1", {"path": "a.py"})), AIMessage("done")]


class Signing(AgentMiddleware[Any, Any, Any]):
    """Adds to the system message and to tool results, as another product might."""

    def _signed(self, request: Any) -> Any:
        text = request.system_message.text if request.system_message else ""
        return request.override(system_message=SystemMessage(text + " +signed"))

    def wrap_model_call(self, request, handler):
        return handler(self._signed(request))

    async def awrap_model_call(self, request, handler):
        return await handler(self._signed(request))

    def wrap_tool_call(self, request, handler):
        result = handler(request)
        return result.model_copy(update={"content": result.content + " +signed"})

    async def awrap_tool_call(self, request, handler):
        result = await handler(request)
        return result.model_copy(update={"content": result.content + " +signed"})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_outside", [True, False])
async def test_two_other_middlewares_work_beside_ours(way, is_outside, client, sidecar, tools):
    model = ScriptedModel(script=SCRIPT)
    ours = SeamarkMiddleware(client=client)
    others: list[Any] = [Signing(), TodoListMiddleware(system_prompt="todos")]
    agent: Any = create_agent(
        model,
        tools,
        system_prompt="BASE",
        middleware=[*others, ours] if is_outside else [ours, *others],
    )
    ended = await play(agent, way, ASKED)
    system = model.seen[0][0].text
    assert all(part in system for part in ("BASE", "[system memory]", "+signed", "todos"))
    assert model.seen[0][-1].content == "[step memory]"
    result = next(message for message in ended if isinstance(message, ToolMessage))
    expected = ["contents of a.py", "\n\n[tool memory]", " +signed"]
    if not is_outside:
        expected[1:] = reversed(expected[1:])
    assert result.content == "".join(expected)
    assert [body.result for body in sidecar.bodies() if isinstance(body, ToolReturned)] == [
        "contents of a.py" if is_outside else "contents of a.py +signed"
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_that_is_retried_is_reported_each_time_it_ran(way, client, sidecar):
    attempts = []

    @tool
    def flaky() -> str:
        """Works the second time."""
        attempts.append(1)
        if len(attempts) == 1:
            raise TimeoutError("not yet")
        return "worked"

    agent: Any = create_agent(
        ScriptedModel(script=[calls(("flaky", "c1", {})), AIMessage("done")]),
        [flaky],
        middleware=[
            ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False),
            SeamarkMiddleware(client=client),
        ],
    )
    await play(agent, way, ASKED)
    assert len(attempts) == 2
    called = ToolCalled(call_id="c1", tool="flaky")
    assert [body for body in sidecar.bodies() if isinstance(body, ToolCalled | ToolReturned)] == [
        called,
        ToolReturned(call_id="c1", outcome=Outcome.ERROR, result="TimeoutError: not yet"),
        called,
        ToolReturned(call_id="c1", outcome=Outcome.OK, result="worked"),
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_that_is_retried_sees_each_text_once(way, client, sidecar, tools):
    class Flaky(ScriptedModel):
        def _generate(self, messages, *args, **kwargs):
            answer = super()._generate(messages, *args, **kwargs)
            if len(self.seen) == 1:
                raise TimeoutError("not yet")
            return answer

    model = Flaky(script=[AIMessage("done")])
    agent: Any = create_agent(
        model,
        tools,
        middleware=[
            ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False),
            SeamarkMiddleware(client=client),
        ],
    )
    await play(agent, way, ASKED)
    assert [[message.content for message in received] for received in model.seen] == [
        ["[system memory]", "fix the bug\n\n[prefetched]", "[step memory]"]
    ] * 2
    assert len([body for body in sidecar.bodies() if isinstance(body, StepCompleted)]) == 1


def test_a_summary_in_place_of_the_first_message_takes_over_its_text(client, tools):
    summarizer = ScriptedModel(script=[AIMessage("all that was")])
    model = ScriptedModel(script=SCRIPT)
    agent: Any = create_agent(
        model,
        tools,
        middleware=[
            SeamarkMiddleware(client=client),
            SummarizationMiddleware(summarizer, trigger=("messages", 3), keep=("messages", 1)),
        ],
    )
    agent.invoke(ASKED)
    last = model.seen[-1]
    summary = next(message for message in last if isinstance(message, HumanMessage))
    assert "all that was" in summary.text
    assert summary.text.endswith("[prefetched]")


def test_a_run_that_another_middleware_ends_early_ends_its_session(client, sidecar, tools):
    limit: Any = ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")
    agent: Any = create_agent(
        ScriptedModel(script=[calls(("read_file", "c1", {"path": "a"}))]),
        tools,
        middleware=[limit, SeamarkMiddleware(client=client)],
    )
    agent.invoke(ASKED)
    assert len(sidecar.requests("CompleteSession")) == 1


def test_an_agent_inside_a_tool_has_a_session_of_its_own(client, sidecar, tools):
    middleware = SeamarkMiddleware(client=client)
    helper: Any = create_agent(ScriptedModel(script=SCRIPT), tools, middleware=[middleware])

    @tool
    def delegate(task: str) -> str:
        """Gives a task to a helper."""
        return str(helper.invoke({"messages": task})["messages"][-1].text)

    agent: Any = create_agent(
        ScriptedModel(script=[calls(("delegate", "d1", {"task": "part"})), AIMessage("all done")]),
        [delegate],
        middleware=[middleware],
    )
    agent.invoke(ASKED)
    outer, inner = sidecar.requests("StartSession")
    assert (outer.task, inner.task) == ("fix the bug", "part")
    for start, expected in ((outer, "d1"), (inner, "c1")):
        called = [b for b in sidecar.bodies(start.session_id) if isinstance(b, ToolCalled)]
        assert [body.call_id for body in called] == [expected]


def test_tokens_stream_through_and_their_sum_is_reported(client, sidecar, tools):
    agent: Any = create_agent(
        StreamingModel(script=[AIMessage("one two three")]),
        tools,
        middleware=[SeamarkMiddleware(client=client)],
    )
    tokens = [chunk.text for chunk, _ in agent.stream(ASKED, stream_mode="messages")]
    assert "".join(tokens).split() == ["one", "two", "three"]
    assert len(tokens) > 2
    assert TextProduced(kind=TextKind.ANSWER, text="one two three ") in sidecar.bodies()


async def test_tokens_stream_through_in_an_event_loop(client, sidecar, tools):
    agent: Any = create_agent(
        StreamingModel(script=[AIMessage("one two three")]),
        tools,
        middleware=[SeamarkMiddleware(client=client)],
    )
    tokens = [chunk.text async for chunk, _ in agent.astream(ASKED, stream_mode="messages")]
    assert "".join(tokens).split() == ["one", "two", "three"]
    assert TextProduced(kind=TextKind.ANSWER, text="one two three ") in sidecar.bodies()


def test_a_stream_that_is_left_half_way_ends_with_complete(client, sidecar, tools):
    middleware = SeamarkMiddleware(client=client)
    agent: Any = create_agent(
        ScriptedModel(script=SCRIPT), tools, middleware=[middleware], checkpointer=InMemorySaver()
    )
    stream = agent.stream(ASKED, {"configurable": {"thread_id": "t"}}, stream_mode="updates")
    next(stream)
    stream.close()
    assert not sidecar.requests("CompleteSession")
    middleware.complete(validated=False)
    assert len(sidecar.requests("CompleteSession")) == 1


def test_the_middleware_goes_by_the_name_of_its_class(client):
    assert SeamarkMiddleware(client=client).name == "SeamarkMiddleware"
