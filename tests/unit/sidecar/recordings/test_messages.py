"""Lists of messages."""

from typing import Any

import pytest

from seamark_sidecar.recordings import messages

from .said import told, without_steps

OPENAI = [
    {"role": "system", "content": "be good"},
    {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
    {
        "role": "assistant",
        "content": "so",
        "tool_calls": [
            {"id": "a", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "assistant", "content": "done"},
]
LANGCHAIN: list[dict[str, Any]] = [
    {"type": "system", "content": "be good"},
    {"type": "human", "content": "fix it"},
    {
        "type": "ai",
        "content": "so",
        "tool_calls": [{"id": "a", "name": "read_file", "args": {"path": "a.py"}}],
    },
    {"type": "tool", "tool_call_id": "a", "content": "1", "status": "success"},
    {"type": "ai", "content": "done"},
]
WRAPPED = [{"type": each["type"], "data": each} for each in LANGCHAIN]
CONSTRUCTED = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name],
        "kwargs": {key: value for key, value in each.items() if key != "type"},
    }
    for name, each in zip(
        ("SystemMessage", "HumanMessage", "AIMessage", "ToolMessage", "AIMessage"),
        LANGCHAIN,
        strict=True,
    )
]
ANTHROPIC = [
    {"role": "user", "content": "fix it"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "a.py"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
    {"role": "assistant", "content": "done"},
]
ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "so"}],
    },
    {"type": "function_call_output", "call_id": "b", "output": "0"},
    {"type": "function_call", "call_id": "a", "name": "read_file", "arguments": '{"path": "a"}'},
    {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": '{"path": "c"}'},
]

CONVERSATION = [
    (0, "user", "fix it"),
    (1, "says", "so"),
    (1, "calls", "a", "read_file", {"path": "a.py"}),
    (1, "gave", "a", "1"),
    (2, "says", "done"),
]


@pytest.mark.parametrize(
    "document",
    [
        OPENAI,
        LANGCHAIN,
        WRAPPED,
        CONSTRUCTED,
        ANTHROPIC,
        {"messages": OPENAI},
        {"values": {"messages": LANGCHAIN}, "next": []},
        {"inputs": {"messages": LANGCHAIN[:2]}, "outputs": {"messages": LANGCHAIN}},
        {
            "inputs": {"messages": [OPENAI[:4]]},
            "outputs": {"generations": [[{"message": OPENAI[4]}]]},
        },
    ],
    ids=[
        *("openai", "langchain", "wrapped", "constructed", "anthropic"),
        *("object", "state", "graph run", "model run"),
    ],
)  # fmt: skip
def test_every_form_says_the_same(document):
    (recording,) = messages.read(document, "file")
    assert without_steps(recording) == CONVERSATION
    assert recording.task == "fix it"


def test_items_that_follow_each_other_are_one_step():
    (recording,) = messages.read(ITEMS, "file")
    assert [each[:2] for each in without_steps(recording)] == [
        (0, "user"),
        (1, "says"),
        (1, "gave"),
        (2, "calls"),
        (2, "calls"),
    ]


def test_a_call_that_stands_twice_in_a_message_is_made_once():
    call = {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "a.py"}}
    both = {"type": "ai", "content": [call], "tool_calls": LANGCHAIN[2]["tool_calls"]}
    (recording,) = messages.read([both], "file")
    assert len(without_steps(recording)) == 1


def test_functions_of_old_are_answered_in_their_order():
    def asks(path):
        function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
        return {"role": "assistant", "content": None, "function_call": function}

    def answers(text):
        return {"role": "function", "name": "read_file", "content": text}

    (recording,) = messages.read([asks("a"), answers("1"), asks("b"), answers("2")], "file")
    sent = without_steps(recording)
    assert [each[1] for each in sent] == ["calls", "gave", "calls", "gave"]
    assert sent[0][2] == sent[1][2] != sent[2][2] == sent[3][2]


def test_a_failed_tool_and_the_tokens_are_told():
    usage = {"input_tokens": 7, "output_tokens": 3}
    (recording,) = messages.read(
        [
            {**LANGCHAIN[2], "usage_metadata": usage},
            {"type": "tool", "tool_call_id": "a", "content": "no", "status": "error"},
        ],
        "file",
    )
    assert told(recording)[-2:] == [(1, "failed", "a", "no"), (1, "step", 7, 3)]


def test_of_the_runs_of_a_trace_the_longest_is_read():
    runs = [
        {"id": "1", "trace_id": "t", "inputs": {"messages": LANGCHAIN[:2]}, "outputs": {}},
        {"id": "2", "trace_id": "t", "inputs": {}, "outputs": {"messages": LANGCHAIN}},
        {"id": "3", "trace_id": "u", "outputs": {"messages": LANGCHAIN[:2]}},
    ]
    found = messages.read(runs, "file")
    assert [each.session_id for each in found] == ["t", "u"]
    assert without_steps(found[0]) == CONVERSATION


def test_what_holds_no_messages_is_not_of_this_form():
    for other in ({}, [], [1], {"messages": "x"}, {"name": "pkg", "type": "module"}, None, "x"):
        assert not messages.matches(other)
