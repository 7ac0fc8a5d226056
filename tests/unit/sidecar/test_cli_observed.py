"""What was seen in a session, for programs and for people."""

import json

from seamark.wire.v1 import operator_pb2 as wire
from seamark_sidecar.cli import observed


def signal(**changes):
    facts = {
        "type": "error_retry",
        "step": 1,
        "confidence": 0.9,
        "files": ["a.py"],
        "details_json": json.dumps({"count": 2}),
        **changes,
    }
    return wire.ObservedSignal(**facts)


def answer(**changes):
    facts = {
        "session_id": "abc",
        "event_count": 7,
        "step": 3,
        "actions": [wire.ActionCount(action="read", count=2)],
        "files": [wire.ObservedFile(path="a.py", reads=2, edits=1)],
        "tests": [wire.ObservedTests(step=2, passed=3, failed=-1)],
        "signals": [signal()],
        "candidates": [
            wire.ObservedCandidate(
                signal="error_retry", type="error_pattern", content="It fails.", step=1
            )
        ],
        "calls": [wire.ObservedCall(step=0, tool="bash", action="read", files=["a.py"])],
        "event_us_p50": 12.5,
        "event_us_p99": 99.0,
        "scratchpad_bytes": 5000,
        **changes,
    }
    return wire.ObserveSessionResponse(**facts)


def tens(step):
    return 10 * step


def test_all_of_it_is_one_object():
    assert observed.answer_json(answer(), "own", tens, with_calls=True) == {
        "session_id": "own",
        "events": 7,
        "actions": {"read": 2},
        "files": [{"path": "a.py", "reads": 2, "edits": 1, "writes": 0}],
        "tests": [{"step": 20, "passed": 3, "failed": None}],
        "signals": [
            {"type": "error_retry", "step": 10, "confidence": 0.9, "files": ["a.py"], "count": 2}
        ],
        "candidates": [
            {
                "signal": "error_retry",
                "type": "error_pattern",
                "content": "It fails.",
                "files": [],
                "step": 10,
                "contaminated_by": "",
            }
        ],
        "tainted_from_step": None,
        "us_per_event": {"p50": 12.5, "p99": 99.0},
        "scratchpad_bytes": 5000,
        "calls": [{"step": 0, "tool": "bash", "action": "read", "files": ["a.py"]}],
    }


def test_the_first_step_can_be_the_one_where_outside_text_came_in():
    told = observed.answer_json(answer(tainted_from_step=0), "own", tens)
    assert told["tainted_from_step"] == 0


def test_details_that_are_steps_are_told_in_the_readers_numbers():
    details = {
        "first_step": 2,
        "never_step": -1,
        "steps": [1, 4],
        "steps_between": 5,
        "step": "not the signal's",
    }
    told = observed.signal_json(signal(details_json=json.dumps(details)), tens)
    assert told["first_step"] == 20
    assert told["never_step"] == -1
    assert told["steps"] == [10, 40]
    assert told["steps_between"] == 5
    assert told["step"] == 10


def test_details_that_are_no_steps_stay_as_they_are():
    told = observed.signal_json(signal(details_json='{"steps": ["read", "edit"]}'), tens)
    assert told["steps"] == ["read", "edit"]
    assert observed.signal_json(signal(details_json='{"steps": 3}'), tens)["steps"] == 3


def test_odd_details_hide_nothing():
    for odd in ("", "[]", "no json", "null"):
        told = observed.signal_json(signal(details_json=odd, confidence=float("nan")))
        assert told == {"type": "error_retry", "step": 1, "confidence": 0.0, "files": ["a.py"]}


def test_people_are_told_in_short():
    text = "\n".join(line.plain for line in observed.lines(answer(), 80, tens))
    assert "7 in 3 steps" in text
    assert "1 touched; 1 changed: a.py" in text
    assert "1 run; at step 20 3 passed" in text
    assert "error_pattern from error_retry at step 10" in text
    assert "outside text" not in text


def test_many_sessions_are_summed_up():
    lines = [line.plain for line in observed.sum_lines([answer(), answer(signals=[])])]
    assert lines[0] == "2 sessions, 14 events, 2 candidates"
    assert lines[1].split() == ["error_retry", "1", "in", "1", "session"]


def test_nothing_of_it_steers_a_terminal():
    hostile = answer(
        files=[wire.ObservedFile(path="\x1b[2J", edits=1)],
        candidates=[
            wire.ObservedCandidate(
                type="\x1b", signal="\u202e", content="\x1b]0;x\x07", files=["\x9b"]
            )
        ],
    )
    text = "\n".join(line.plain for line in observed.lines(hostile, 80))
    assert not set("\x1b\u202e\x07\x9b") & set(text)
