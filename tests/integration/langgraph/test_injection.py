"""What the model receives at the four points, and what of it stays in the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.scripted import ASKED, THREAD, WAYS, ScriptedModel, calls, play

FIRST: Any = {"messages": "first task"}
SECOND: Any = {"messages": "second task"}
SCRIPT = [calls(("read_file", "c1", {"path": "a.py"})), AIMessage("done")]


@pytest.mark.parametrize("way", WAYS)
async def test_all_four_points_reach_the_model(way, client, tools):
    model = ScriptedModel(script=SCRIPT)
    agent = create_agent(
        model, tools, system_prompt="BASE", middleware=[SeamarkMiddleware(client=client)]
    )
    await play(agent, way, ASKED)
    first, second = model.seen
    assert [message.content for message in first] == [
        "BASE\n\n[system memory]",
        "fix the bug\n\n[prefetched]",
        "[step memory]",
    ]
    assert [message.content for message in second] == [
        "BASE\n\n[system memory]",
        "fix the bug\n\n[prefetched]",
        "",
        "contents of a.py\n\n[tool memory]",
        "[step memory]",
    ]
    assert [type(message) for message in (first[-1], second[-1])] == [HumanMessage, HumanMessage]


@pytest.mark.parametrize("way", WAYS)
async def test_only_the_tool_result_keeps_what_was_injected(way, client, tools):
    model = ScriptedModel(script=SCRIPT)
    agent = create_agent(
        model,
        tools,
        system_prompt="BASE",
        middleware=[SeamarkMiddleware(client=client)],
        checkpointer=InMemorySaver(),
    )
    ended = await play(agent, way, ASKED, THREAD)
    stored = agent.get_state(THREAD).values["messages"]
    expected = ["fix the bug", "", "contents of a.py\n\n[tool memory]", "done"]
    assert [message.content for message in ended] == expected
    assert [message.content for message in stored] == expected


def test_what_invoke_returns_holds_nothing_of_ours_beside_the_messages(client, tools):
    agent = create_agent(
        ScriptedModel(script=SCRIPT), tools, middleware=[SeamarkMiddleware(client=client)]
    )
    assert set(agent.invoke(ASKED)) == {"messages"}


def test_without_a_system_message_memory_makes_one(client, tools):
    model = ScriptedModel(script=SCRIPT)
    create_agent(model, tools, middleware=[SeamarkMiddleware(client=client)]).invoke(ASKED)
    assert [message.content for message in model.seen[0] if message.type == "system"] == [
        "[system memory]"
    ]


def test_an_app_without_system_message_gets_none_when_memory_is_empty(client, sidecar, tools):
    sidecar.system = ""
    model = ScriptedModel(script=SCRIPT)
    create_agent(model, tools, middleware=[SeamarkMiddleware(client=client)]).invoke(ASKED)
    assert [message.type for message in model.seen[0]] == ["human", "human"]


def test_content_blocks_and_cache_markers_of_the_app_stay_as_they_are(client, tools):
    blocks: list[Any] = [
        {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}},
        "plain",
        {"type": "provider_thing", "payload": [1, 2]},
    ]
    prompt = SystemMessage(content=list(blocks), additional_kwargs={"app": "own"})
    model = ScriptedModel(script=SCRIPT)
    create_agent(
        model, tools, system_prompt=prompt, middleware=[SeamarkMiddleware(client=client)]
    ).invoke(ASKED)
    received = model.seen[0][0]
    assert received.content == [*blocks, {"type": "text", "text": "\n\n[system memory]"}]
    assert received.additional_kwargs == {"app": "own"}
    assert prompt.content == blocks


def test_a_user_message_of_blocks_gets_one_block_more(client, tools):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    asked = HumanMessage(content=[{"type": "text", "text": "look"}, image])
    model = ScriptedModel(script=SCRIPT)
    create_agent(model, tools, middleware=[SeamarkMiddleware(client=client)]).invoke(
        {"messages": [asked]}
    )
    assert model.seen[0][1].content == [
        {"type": "text", "text": "look"},
        image,
        {"type": "text", "text": "\n\n[prefetched]"},
    ]
    assert asked.content == [{"type": "text", "text": "look"}, image]


def test_a_tool_result_of_blocks_gets_one_block_more(client):
    @tool
    def look() -> list[dict[str, str]]:
        """Looks."""
        return [{"type": "text", "text": "seen"}]

    model = ScriptedModel(script=[calls(("look", "c1", {})), AIMessage("done")])
    agent = create_agent(model, [look], middleware=[SeamarkMiddleware(client=client)])
    result = agent.invoke(ASKED)["messages"][-2]
    assert result.content == [
        {"type": "text", "text": "seen"},
        {"type": "text", "text": "\n\n[tool memory]"},
    ]


def test_a_directly_returned_result_is_the_apps_answer_and_stays_so(client):
    @tool(return_direct=True)
    def answer() -> str:
        """Answers the user."""
        return "42"

    agent = create_agent(
        ScriptedModel(script=[calls(("answer", "c1", {}))]),
        [answer],
        middleware=[SeamarkMiddleware(client=client)],
    )
    assert agent.invoke(ASKED)["messages"][-1].content == "42"


def test_the_step_message_is_never_seen_twice_in_one_call(client, tools):
    model = ScriptedModel(
        script=[calls(("read_file", f"c{n}", {"path": "a"})) for n in range(4)] + [AIMessage("ok")]
    )
    create_agent(model, tools, middleware=[SeamarkMiddleware(client=client)]).invoke(ASKED)
    assert [
        sum(message.content == "[step memory]" for message in received) for received in model.seen
    ] == [1, 1, 1, 1, 1]


def test_steps_are_counted_from_zero_in_every_session(client, sidecar, tools):
    agent = create_agent(
        ScriptedModel(script=SCRIPT), tools, middleware=[SeamarkMiddleware(client=client)]
    )
    agent.invoke(ASKED)
    agent.invoke(ASKED)
    assert [request.step for request in sidecar.requests("PrepareStep")] == [0, 1, 0, 1]


def test_everything_before_the_step_message_is_the_same_from_call_to_call(client, sidecar, tools):
    model = ScriptedModel(script=SCRIPT)
    create_agent(
        model, tools, system_prompt="BASE", middleware=[SeamarkMiddleware(client=client)]
    ).invoke(ASKED)
    first, second = model.seen
    assert [message.content for message in first[:-1]] == [
        message.content for message in second[: len(first) - 1]
    ]


def test_a_later_turn_shows_the_texts_of_its_own_session_only(client, sidecar, tools):
    model = ScriptedModel(script=[AIMessage("one"), AIMessage("two")])
    agent = create_agent(
        model,
        tools,
        middleware=[SeamarkMiddleware(client=client)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(FIRST, THREAD)
    sidecar.system, sidecar.first_message = "[newer system]", "[newer files]"
    agent.invoke(SECOND, THREAD)
    assert [message.content for message in model.seen[1]] == [
        "[newer system]",
        "first task",
        "one",
        "second task\n\n[newer files]",
        "[step memory]",
    ]


def test_texts_of_an_earlier_turn_are_gone_when_the_later_session_has_none(client, sidecar, tools):
    model = ScriptedModel(script=[AIMessage("one"), AIMessage("two")])
    agent = create_agent(
        model,
        tools,
        middleware=[SeamarkMiddleware(client=client)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(FIRST, THREAD)
    sidecar.system = sidecar.first_message = sidecar.step = ""
    agent.invoke(SECOND, THREAD)
    assert [message.content for message in model.seen[1]] == ["first task", "one", "second task"]


@pytest.mark.parametrize("way", WAYS)
async def test_observing_only_shows_nothing_offers_nothing_and_reports_all(
    way, client, sidecar, tools
):
    plain, watched = ScriptedModel(script=SCRIPT), ScriptedModel(script=SCRIPT)
    await play(create_agent(plain, tools, system_prompt="BASE"), way, ASKED)
    observer = SeamarkMiddleware(client=client, inject=False)
    await play(
        create_agent(watched, tools, system_prompt="BASE", middleware=[observer]), way, ASKED
    )
    assert [[each.content for each in received] for received in watched.seen] == [
        [each.content for each in received] for received in plain.seen
    ]
    assert watched.offered == plain.offered
    assert [type(body).__name__ for body in sidecar.bodies()] == [
        "UserSaid",
        "StepCompleted",
        "ToolCalled",
        "ToolReturned",
        "TextProduced",
        "StepCompleted",
    ]
    assert not sidecar.requests("PrepareStep")
    assert not sidecar.requests("AugmentToolResult")
