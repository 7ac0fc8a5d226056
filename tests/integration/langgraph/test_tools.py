"""The tools with which an agent asks and tells its memory."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from seamark import MemoryHit, MemoryRecorded, ToolCalled, ToolReturned
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.scripted import ASKED, WAYS, ScriptedModel, calls, play

HIT = MemoryHit(
    memory_id="m1",
    type="gotcha",
    content="the lock file is generated",
    files=("a.lock",),
    confidence=0.9,
    score=0.8,
    label="lock file",
    shown=False,
    needs_review=False,
)


def results(messages: Any) -> list[Any]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("way", WAYS)
async def test_an_agent_searches_and_gets_the_text_as_it_is(way, client, sidecar):
    sidecar.hits = (HIT,)
    script = [
        calls(
            (
                "search_memory",
                "c1",
                {"query": "lock", "types": ["gotcha"], "related_files": ["a.lock"]},
            )
        ),
        AIMessage("ok"),
    ]
    agent = create_agent(
        ScriptedModel(script=script), [], middleware=[SeamarkMiddleware(client=client)]
    )
    assert results(await play(agent, way, ASKED)) == ["the lock file is generated"]
    (request,) = sidecar.requests("Search")
    assert (request.query, list(request.types), list(request.files)) == (
        "lock",
        ["gotcha"],
        ["a.lock"],
    )


@pytest.mark.parametrize("way", WAYS)
async def test_an_agent_records_a_dead_end_with_all_its_parts(way, client, sidecar):
    arguments = {
        "type": "dead_end",
        "content": "Pinning does not help.",
        "related_files": ["setup.cfg"],
        "tags": ["build"],
        "approach_tried": "pin the version",
        "why_it_failed": "the mirror lacks it",
        "alternative_used": "vendored it",
    }
    agent = create_agent(
        ScriptedModel(script=[calls(("record_memory", "c1", arguments)), AIMessage("ok")]),
        [],
        middleware=[SeamarkMiddleware(client=client)],
    )
    assert results(await play(agent, way, ASKED)) == ["Noted."]
    assert [body for body in sidecar.bodies() if isinstance(body, MemoryRecorded)] == [
        MemoryRecorded(
            type="dead_end",
            content="Pinning does not help.\nTried: pin the version\n"
            "Failed because: the mirror lacks it\nUsed instead: vendored it",
            files=("setup.cfg",),
            tags=("build",),
        )
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_our_own_tools_are_not_reported_as_tool_calls(way, client, sidecar):
    script = [
        calls(
            ("search_memory", "c1", {"query": "x"}),
            ("record_memory", "c2", {"type": "gotcha", "content": "y"}),
        ),
        AIMessage("ok"),
    ]
    agent = create_agent(
        ScriptedModel(script=script), [], middleware=[SeamarkMiddleware(client=client)]
    )
    await play(agent, way, ASKED)
    assert not [b for b in sidecar.bodies() if isinstance(b, ToolCalled | ToolReturned)]
    assert not sidecar.requests("AugmentToolResult")


@pytest.mark.parametrize(
    ("chosen", "offered"),
    [
        (("search_memory", "record_memory"), ["search_memory", "record_memory"]),
        (["record_memory"], ["record_memory"]),
        ({"search_memory"}, ["search_memory"]),
        ("search_memory", ["search_memory"]),
        ((), []),
    ],
)
def test_each_tool_can_be_switched_off(chosen, offered, client, tools):
    model = ScriptedModel(script=[AIMessage("ok")])
    middleware = SeamarkMiddleware(client=client, tools=chosen)
    create_agent(model, tools, middleware=[middleware]).invoke(ASKED)
    assert set(model.offered[0]) == {"read_file", "explode", *offered}


def test_a_tool_that_does_not_exist_is_named_in_a_warning(client, caplog):
    middleware = SeamarkMiddleware(client=client, tools=["serach_memory"])
    assert not middleware.tools
    assert "serach_memory" in caplog.text
    assert "search_memory, record_memory" in caplog.text


def test_a_tool_of_the_app_that_bears_the_name_of_ours_is_observed(client, sidecar):
    @tool
    def search_memory(query: str) -> str:
        """The app's own."""
        return "the app's own answer"

    agent = create_agent(
        ScriptedModel(script=[calls(("search_memory", "c1", {"query": "x"})), AIMessage("ok")]),
        [search_memory],
        middleware=[SeamarkMiddleware(client=client, tools=())],
    )
    agent.invoke(ASKED)
    assert [body.tool for body in sidecar.bodies() if isinstance(body, ToolCalled)] == [
        "search_memory"
    ]


def test_a_wrong_type_is_told_to_the_model_and_not_recorded(client, sidecar):
    wrong = {"type": "rumour", "content": "y"}
    agent = create_agent(
        ScriptedModel(script=[calls(("record_memory", "c1", wrong)), AIMessage("ok")]),
        [],
        middleware=[SeamarkMiddleware(client=client)],
    )
    (answer,) = results(agent.invoke(ASKED)["messages"])
    assert "module_insight" in answer
    assert not sidecar.requests("Record")


def test_the_model_is_told_what_each_argument_is_for(client):
    tools: Any = SeamarkMiddleware(client=client).tools
    schemas = {each.name: each.tool_call_schema.model_json_schema()["properties"] for each in tools}
    assert list(schemas["search_memory"]) == ["query", "types", "related_files"]
    assert list(schemas["record_memory"]) == [
        "type",
        "content",
        "related_files",
        "tags",
        "approach_tried",
        "why_it_failed",
        "alternative_used",
    ]
    for properties in schemas.values():
        assert all(each["description"] for each in properties.values())
    assert {"requirement", "preference"} <= set(schemas["record_memory"]["type"]["enum"])


@pytest.mark.parametrize("way", WAYS)
async def test_without_a_sidecar_the_tools_tell_the_agent_to_go_on(way, sidecar):
    sidecar.stop()
    script = [
        calls(
            ("search_memory", "c1", {"query": "x"}),
            ("record_memory", "c2", {"type": "gotcha", "content": "y"}),
        ),
        AIMessage("ok"),
    ]
    lonely = sidecar.client(session_start_deadline=0.1, close_deadline=0.1)
    agent = create_agent(
        ScriptedModel(script=script), [], middleware=[SeamarkMiddleware(client=lonely)]
    )
    ended = await play(agent, way, ASKED)
    assert ended[-1].content == "ok"
    assert all("Memory cannot be reached" in answer for answer in results(ended))
    lonely.close(timeout=0)
