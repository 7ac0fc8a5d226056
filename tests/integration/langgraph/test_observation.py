"""What is reported of a run, whatever way it is run."""

from __future__ import annotations

import json
import threading
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import InjectedToolCallId
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from seamark import (
    Client,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.scripted import ASKED, WAYS, ScriptedModel, calls, play

USAGE = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}


def agent_of(script: Any, tools: Any, client: Client, **more: Any) -> Any:
    middleware = SeamarkMiddleware(client=client)
    return create_agent(ScriptedModel(script=script), tools, middleware=[middleware], **more)


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_is_reported_in_the_order_it_happened(way, client, sidecar, tools):
    thinking = AIMessage(
        [
            {"type": "reasoning", "reasoning": "it must be a.py"},
            {"type": "text", "text": "I read it."},
        ],
        tool_calls=[{"name": "read_file", "id": "c1", "args": {"path": "a.py"}}],
        usage_metadata=USAGE,
    )
    agent = agent_of([thinking, AIMessage("done", usage_metadata=USAGE)], tools, client)
    await play(agent, way, ASKED)
    assert sidecar.bodies() == [
        UserSaid(text="fix the bug"),
        TextProduced(kind=TextKind.REASONING, text="it must be a.py"),
        TextProduced(kind=TextKind.ANSWER, text="I read it."),
        StepCompleted(input_tokens=11, output_tokens=7),
        ToolCalled(call_id="c1", tool="read_file", arguments_json='{"path": "a.py"}'),
        # As the tool gave it, without what memory appended.
        ToolReturned(call_id="c1", outcome=Outcome.OK, result="contents of a.py"),
        TextProduced(kind=TextKind.ANSWER, text="done"),
        StepCompleted(input_tokens=11, output_tokens=7),
    ]


def test_the_session_starts_with_the_task_and_the_apps_own_words(client, sidecar, tools, tmp_path):
    middleware = SeamarkMiddleware(
        client=client, project=tmp_path, project_name="shop", session_type="insights", role="coder"
    )
    create_agent(ScriptedModel(script=[AIMessage("ok")]), tools, middleware=[middleware]).invoke(
        {"messages": [HumanMessage("context"), HumanMessage("the task")]}
    )
    (request,) = sidecar.requests("StartSession")
    assert (request.project.path, request.project.name) == (str(tmp_path), "shop")
    assert (request.session_type, request.role) == ("insights", "coder")
    assert request.task == "the task"
    assert sidecar.bodies()[:2] == [UserSaid(text="context"), UserSaid(text="the task")]


def test_the_project_is_where_the_process_stands_when_the_run_starts(
    client, sidecar, tools, tmp_path, monkeypatch
):
    agent = agent_of([AIMessage("ok")], tools, client)
    monkeypatch.chdir(tmp_path)
    agent.invoke(ASKED)
    assert sidecar.requests("StartSession")[0].project.path == str(tmp_path)


def test_only_what_is_new_in_this_turn_counts_as_said(client, sidecar, tools):
    history = [HumanMessage("old question"), AIMessage("old answer"), HumanMessage("new question")]
    agent_of([AIMessage("a"), AIMessage("b")], tools, client).invoke({"messages": history})
    assert [body for body in sidecar.bodies() if isinstance(body, UserSaid)] == [
        UserSaid(text="new question")
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_parallel_calls_are_told_apart_by_their_ids(way, client, sidecar):
    together = threading.Barrier(3, timeout=10)

    @tool
    def visit(place: str) -> str:
        """Returns when all three are under way."""
        together.wait()
        return f"been to {place}"

    script = [
        calls(*(("visit", f"c{number}", {"place": f"p{number}"}) for number in range(3))),
        AIMessage("done"),
    ]
    ended = await play(agent_of(script, [visit], client), way, ASKED)
    assert [message.content for message in ended if isinstance(message, ToolMessage)] == [
        f"been to p{number}\n\n[tool memory]" for number in range(3)
    ]
    called = {body.call_id: body for body in sidecar.bodies() if isinstance(body, ToolCalled)}
    returned = {body.call_id: body for body in sidecar.bodies() if isinstance(body, ToolReturned)}
    assert {call_id: json.loads(body.arguments_json) for call_id, body in called.items()} == {
        f"c{number}": {"place": f"p{number}"} for number in range(3)
    }
    assert {call_id: body.result for call_id, body in returned.items()} == {
        f"c{number}": f"been to p{number}" for number in range(3)
    }
    asked_for = {request.call_id for request in sidecar.requests("AugmentToolResult")}
    assert asked_for == {"c0", "c1", "c2"}


@pytest.mark.parametrize("way", WAYS)
async def test_a_raising_tool_is_reported_and_its_exception_is_the_apps_own(way, client, sidecar):
    error = ValueError("bad luck")

    @tool
    def explode() -> str:
        """Fails."""
        raise error

    agent = agent_of([calls(("explode", "c1", {}))], [explode], client)
    with pytest.raises(ValueError, match="bad luck") as caught:
        await play(agent, way, ASKED)
    assert caught.value is error
    assert client.flush(5)
    assert sidecar.bodies()[-1] == ToolReturned(
        call_id="c1", outcome=Outcome.ERROR, result="ValueError: bad luck"
    )


@pytest.mark.parametrize("way", WAYS)
async def test_an_unknown_tool_is_a_failed_call(way, client, sidecar, tools):
    agent = agent_of([calls(("nope", "c1", {})), AIMessage("done")], tools, client)
    ended = await play(agent, way, ASKED)
    assert ended[-1].content == "done"
    called, returned = sidecar.bodies()[2:4]
    assert called == ToolCalled(call_id="c1", tool="nope", arguments_json="{}")
    assert isinstance(returned, ToolReturned)
    assert returned.outcome is Outcome.ERROR
    assert "nope is not a valid tool" in returned.result


def test_wrong_arguments_are_a_failed_call(client, sidecar, tools):
    agent_of([calls(("read_file", "c1", {"pfad": "a"})), AIMessage("done")], tools, client).invoke(
        ASKED
    )
    returned = sidecar.bodies()[3]
    assert isinstance(returned, ToolReturned)
    assert returned.outcome is Outcome.ERROR


@pytest.mark.parametrize("way", WAYS)
async def test_a_result_inside_a_command_is_reported_and_the_command_left_alone(
    way, client, sidecar
):
    @tool
    def hand_over(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Updates the state itself."""
        return Command(
            update={
                "messages": [
                    HumanMessage("aside"),
                    ToolMessage("handed over", tool_call_id=call_id, status="error"),
                ]
            }
        )

    agent = agent_of([calls(("hand_over", "c1", {})), AIMessage("done")], [hand_over], client)
    ended = await play(agent, way, ASKED)
    assert [message.content for message in ended] == [
        "fix the bug",
        "",
        "aside",
        "handed over",
        "done",
    ]
    assert sidecar.bodies()[3] == ToolReturned(
        call_id="c1", outcome=Outcome.ERROR, result="handed over"
    )


def test_binary_and_undecodable_results_are_reported_as_text(client, sidecar):
    @tool
    def dump() -> bytes:
        """Gives bytes."""
        return b"\xff\xfe\x00 not text"

    @tool
    def broken() -> str:
        """Gives half a character."""
        return "half \ud800 character"

    script = [calls(("dump", "c1", {})), calls(("broken", "c2", {})), AIMessage("done")]
    agent_of(script, [dump, broken], client).invoke(ASKED)
    results = [body.result for body in sidecar.bodies() if isinstance(body, ToolReturned)]
    assert "not text" in results[0]
    assert results[1] == "half ? character"


def test_a_call_that_cannot_be_read_is_still_a_call(client, sidecar, caplog):
    class Hostile:
        def __str__(self) -> str:
            raise SystemError("no")

        __repr__ = __str__

    class Meddler(SeamarkMiddleware):
        """Stands outside, and changes the arguments before ours sees them."""

        def wrap_tool_call(self, request, handler):
            changed = {**request.tool_call, "args": {"path": Hostile()}}
            return super().wrap_tool_call(
                request.override(tool_call=changed), lambda _: handler(request)
            )

    @tool
    def read_file(path: str) -> str:
        """Reads."""
        return "read"

    model = ScriptedModel(script=[calls(("read_file", "c1", {"path": "a"})), AIMessage("done")])
    agent = create_agent(model, [read_file], middleware=[Meddler(client=client)])
    assert agent.invoke(ASKED)["messages"][-1].content == "done"
    assert sidecar.bodies()[2:4] == [
        ToolCalled(call_id="c1", tool="read_file"),
        ToolReturned(call_id="c1", outcome=Outcome.OK, result="read"),
    ]
    assert "could not read what the agent did" in caplog.text


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_that_raises_keeps_its_exception(way, client, tools):
    error = ConnectionError("no model")

    class Failing(ScriptedModel):
        def _generate(self, *args, **kwargs):
            raise error

    agent = create_agent(Failing(script=[]), tools, middleware=[SeamarkMiddleware(client=client)])
    with pytest.raises(ConnectionError) as caught:
        await play(agent, way, ASKED)
    assert caught.value is error


def test_a_call_id_used_again_by_a_simple_model_is_another_call(client, sidecar, tools):
    script = [calls(("read_file", "call_0", {"path": name})) for name in "ab"] + [AIMessage("ok")]
    agent_of(script, tools, client).invoke(ASKED)
    assert [body.arguments_json for body in sidecar.bodies() if isinstance(body, ToolCalled)] == [
        '{"path": "a"}',
        '{"path": "b"}',
    ]


def test_messages_replaced_behind_our_back_do_not_disturb_a_run(client, sidecar, tools):
    agent = agent_of(
        [AIMessage("one"), AIMessage("two")], tools, client, checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    agent.invoke(ASKED, thread)
    agent.update_state(thread, {"messages": [HumanMessage("edited by the app")]})
    agent.invoke({"messages": []}, thread)
    assert [body.text for body in sidecar.bodies() if isinstance(body, UserSaid)] == [
        "fix the bug",
        "edited by the app",
    ]
