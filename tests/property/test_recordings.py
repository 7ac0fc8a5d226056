"""Whatever stands in a file, reading it gives recordings or says why not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from seamark import codec
from seamark_sidecar.recordings import detect
from seamark_sidecar.recordings.recording import Unreadable

# The words that the readers look for, so that odd values get where they look.
KEYS = st.sampled_from(
    [
        *("events", "type", "step", "text", "args", "result", "tool", "id", "ts", "tokens", "role"),
        *(
            "message",
            "messages",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "kwargs",
            "data",
        ),
        *("trajectory", "action", "observation", "thought", "info", "extra", "usage", "inputs"),
        *("outputs", "sessionId", "uuid", "command", "path", "timestamp", "isSidechain", "input"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "tool", "ai", "human", "tool_call", "tool_result", "reasoning"),
        *("function_call", "constructor", "thinking", "tool_use", "text", "step", "view", "edit 1"),
        *("open a.py", "```bash\nls\n```", "2026-01-01", "9" * 30, "\ud800", "\x00", ""),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_reading_never_fails_in_another_way_and_all_can_be_sent(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("r") / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, documents)))
    try:
        recordings = detect.read(path)
    except Unreadable:
        return
    for recording in recordings:
        recording.session_id.encode("utf-8", "replace")
        events = list(recording.events())
        assert len(recording.steps()) <= len(events)
        for number, sent in enumerate(events, 1):
            message = codec.event_to_wire(number, sent.seconds, sent.body)
            codec.event_from_wire("p", message)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_text_are_refused(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("r") / "a.json"
    path.write_bytes(raw)
    try:
        detect.read(path)
    except Unreadable:
        return
