"""Framework objects become events, whatever is in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from langchain.agents.middleware import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from seamark import (
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_langgraph import _translate as translate

CIRCLE: dict[str, object] = {}
CIRCLE["self"] = CIRCLE


@dataclass
class Point:
    x: int


def test_a_tool_call_carries_its_arguments_as_a_json_object():
    call = {"name": "edit", "id": "c1", "args": {"path": "ä.py", "lines": [1, 2]}}
    assert translate.tool_called(call) == ToolCalled(
        call_id="c1", tool="edit", arguments_json='{"path": "ä.py", "lines": [1, 2]}'
    )


@pytest.mark.parametrize(
    ("value", "shown"), [(Path("a"), "a"), (Point(1), "Point(x=1)"), (b"raw", "b'raw'")]
)
def test_arguments_that_json_does_not_know_become_their_text(value, shown):
    called = translate.tool_called({"name": "t", "id": "c", "args": {"value": value}})
    assert json.loads(called.arguments_json) == {"value": shown}


@pytest.mark.parametrize("args", [{(1, 2): "tuple key"}, CIRCLE])
def test_arguments_that_are_no_json_at_all_are_still_an_object(args):
    called = translate.tool_called({"name": "t", "id": "c", "args": args})
    assert list(json.loads(called.arguments_json)) == ["unreadable"]


def test_arguments_nested_too_deeply_are_named_so():
    deep: list[object] = []
    for _ in range(20_000):
        deep = [deep]
    called = translate.tool_called({"name": "t", "id": "c", "args": {"value": deep}})
    assert json.loads(called.arguments_json) == {"unreadable": "nested too deeply"}


def test_a_call_with_nothing_in_it_is_a_call():
    assert translate.tool_called({}) == ToolCalled(call_id="", tool="", arguments_json="{}")


@pytest.mark.parametrize(("status", "outcome"), [("success", Outcome.OK), ("error", Outcome.ERROR)])
def test_a_tool_message_says_how_the_call_ended(status, outcome):
    message = ToolMessage("text", tool_call_id="c1", status=status)
    assert translate.tool_returned("c1", message) == ToolReturned(
        call_id="c1", outcome=outcome, result="text"
    )


MINE = ToolMessage("mine", tool_call_id="c1")
OTHER = ToolMessage("other", tool_call_id="c2")


@pytest.mark.parametrize(
    "result",
    [
        Command(update={"messages": [OTHER, MINE]}),
        Command(update={"messages": MINE}),
        Command(update=[("todo", []), ("messages", [OTHER, MINE])]),
        [Command(update={"messages": [OTHER]}), MINE],
        [Command(goto="elsewhere"), Command(update={"messages": (MINE,)})],
    ],
)
def test_a_result_is_found_wherever_the_tool_put_it(result):
    assert translate.tool_returned("c1", result).result == "mine"


@pytest.mark.parametrize(
    "result",
    [
        Command(),
        Command(update={"messages": [OTHER]}),
        Command(update={"messages": ["raw", {"role": "tool"}]}),
        Command(update=Point(1)),
        None,
        "text",
        [],
    ],
)
def test_a_result_without_a_message_of_the_call_is_an_empty_success(result):
    assert translate.tool_returned("c1", result) == ToolReturned(
        call_id="c1", outcome=Outcome.OK, result=""
    )


def test_an_exception_is_an_error_with_its_type_and_message():
    assert translate.tool_raised("c1", KeyError("path")) == ToolReturned(
        call_id="c1", outcome=Outcome.ERROR, result="KeyError: 'path'"
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        (b"bytes \xff", "bytes \ufffd"),
        (["a", {"type": "text", "text": "b"}, "", {"type": "text", "text": ""}], "a\nb"),
        ([{"type": "image", "base64": "AAAA"}, "seen"], "[image]\nseen"),
        ([{"type": "image_url", "image_url": {"url": "data:..."}}], "[image_url]"),
        ([{"type": "json", "json": {"a": 1}}], '{"type": "json", "json": {"a": 1}}'),
        ([{"key": Path("x")}], '{"key": "x"}'),
        (42, "42"),
    ],
)
def test_any_content_becomes_text(content, text):
    assert translate.text_of(content) == text


def test_thoughts_and_words_stay_apart_and_in_order():
    message = AIMessage(
        [
            {"type": "reasoning", "reasoning": "first"},
            {"type": "reasoning", "reasoning": "second"},
            {"type": "text", "text": "said"},
            {"type": "reasoning", "reasoning": "third"},
            {"type": "text", "text": "  "},
        ],
        tool_calls=[{"name": "t", "id": "c", "args": {}}],
    )
    assert translate.texts_produced(message) == [
        TextProduced(kind=TextKind.REASONING, text="first\nsecond"),
        TextProduced(kind=TextKind.ANSWER, text="said"),
        TextProduced(kind=TextKind.REASONING, text="third"),
    ]


def test_reasoning_that_a_provider_hides_beside_the_content_is_found():
    message = AIMessage("said", additional_kwargs={"reasoning_content": "thought"})
    assert translate.texts_produced(message) == [
        TextProduced(kind=TextKind.REASONING, text="thought"),
        TextProduced(kind=TextKind.ANSWER, text="said"),
    ]


@pytest.mark.parametrize("content", ["", [], [{"type": "reasoning"}], " \n"])
def test_an_answer_without_words_produces_none(content):
    assert translate.texts_produced(AIMessage(content)) == []


def test_tokens_are_those_of_all_answers_of_the_call():
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    messages = [AIMessage("a", usage_metadata=usage), AIMessage("b"), AIMessage("c")]
    messages[2].usage_metadata = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    assert translate.step_completed(messages) == StepCompleted(input_tokens=4, output_tokens=5)
    assert translate.step_completed([]) == StepCompleted()


def test_answers_are_found_in_every_shape_a_model_call_returns():
    answer, tool_result = AIMessage("a"), ToolMessage("t", tool_call_id="c")
    response = ModelResponse(result=[answer, tool_result])
    assert translate.answers_of(response) == [answer]
    assert translate.answers_of(ExtendedModelResponse(model_response=response)) == [answer]
    assert translate.answers_of(answer) == [answer]
    assert translate.answers_of(None) == []


def test_new_is_what_was_said_since_the_model_last_spoke():
    old, first, second = HumanMessage("old"), HumanMessage("first"), HumanMessage("second")
    messages = [SystemMessage("s"), old, AIMessage("a"), first, SystemMessage("s"), second]
    assert translate.new_user_messages(messages) == [first, second]
    assert translate.new_user_messages([old, AIMessage("a")]) == []
    assert translate.new_user_messages([]) == []


def test_a_user_message_of_blocks_is_said_as_text():
    message = HumanMessage([{"type": "text", "text": "look"}, {"type": "image", "url": "u"}])
    assert translate.user_said(message) == UserSaid(text="look\n[image]")


def test_steps_are_counted_from_the_message_the_run_began_with():
    began = HumanMessage("task", id="h1")
    aside = HumanMessage("aside", id="h2")
    messages = [AIMessage("old"), began, AIMessage("1"), aside, AIMessage("2")]
    assert translate.steps_since(messages, "h1") == 2
    assert translate.steps_since(messages, "gone") == 1
    assert translate.steps_since([AIMessage("only")], "gone") == 1
    assert translate.steps_since([], "gone") == 0
