"""Every body survives the wire, and no message from outside is more than a refused one."""

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import example, given
from hypothesis import strategies as st

from seamark import codec
from seamark.errors import UndecodableMessage
from seamark.events import (
    Event,
    FileChanged,
    MemoryRecorded,
    Outcome,
    SessionOutcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark.injections import (
    Citation,
    HeldBack,
    Injection,
    MemoryHit,
    SessionState,
    SessionSummary,
)
from seamark.wire.v1 import events_pb2 as events
from seamark.wire.v1 import sidecar_pb2 as wire

# Text as it can be sent, and text as it can come from a tool: with halves of characters in it.
clean = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
dirty = st.text(st.characters(), max_size=200)
counts = st.integers(0, 2**32 - 1)
sequences = st.integers(1, 2**63 - 1)
seconds = st.floats(0, 4e9)


def bodies(text):
    names = st.lists(text, max_size=5).map(tuple)
    return st.one_of(
        st.builds(UserSaid, text=text),
        st.builds(ToolCalled, call_id=text, tool=text, arguments_json=text),
        st.builds(ToolReturned, call_id=text, outcome=st.sampled_from(Outcome), result=text),
        st.builds(TextProduced, kind=st.sampled_from(TextKind), text=text),
        st.builds(StepCompleted, input_tokens=counts, output_tokens=counts),
        st.builds(MemoryRecorded, type=text, content=text, files=names, tags=names),
        st.builds(FileChanged, path=text),
    )


def over_the_wire(message):
    return type(message).FromString(message.SerializeToString())


@given(sequences, seconds, bodies(clean))
def test_every_body_survives_the_wire(sequence, moment, body):
    message = over_the_wire(codec.event_to_wire(sequence, moment, body))
    event = codec.event_from_wire("producer", message)
    assert (event.producer_id, event.sequence, event.body) == ("producer", sequence, body)
    assert abs(event.time - datetime.fromtimestamp(moment, UTC)) <= timedelta(microseconds=2)


@given(sequences, bodies(dirty))
@example(1, ToolReturned(call_id="c", outcome=Outcome.OK, result="\udcff\udc00 \ud800 \x00"))
def test_text_that_is_no_text_is_sent_all_the_same(sequence, body):
    event = codec.event_from_wire("p", over_the_wire(codec.event_to_wire(sequence, 0.0, body)))
    assert type(event.body) is type(body)


def test_a_body_of_a_newer_sender_is_kept_without_being_understood():
    message = over_the_wire(codec.event_to_wire(7, 0.0, None))
    assert codec.event_from_wire("p", message).body is None


def test_nul_bytes_survive():
    body = ToolReturned(call_id="c", outcome=Outcome.ERROR, result="a\0b")
    assert codec.event_from_wire("p", over_the_wire(codec.event_to_wire(1, 0.0, body))).body == body


# Decoding.

huge = st.integers(0, 2**64 - 1)
numbers = st.integers(-(2**31), 2**31 - 1)
wire_text = st.one_of(clean, st.just("x" * (codec.LONGEST_TEXT + 1)), st.just("\0"))
wire_bodies = st.one_of(
    st.fixed_dictionaries({}),
    st.fixed_dictionaries({"user_said": st.builds(events.UserSaid, text=wire_text)}),
    st.fixed_dictionaries(
        {"tool_returned": st.builds(events.ToolReturned, outcome=numbers, result=wire_text)}
    ),
    st.fixed_dictionaries(
        {"text_produced": st.builds(events.TextProduced, kind=numbers, text=wire_text)}
    ),
    st.fixed_dictionaries(
        {"memory_recorded": st.builds(events.MemoryRecorded, files=st.lists(clean, max_size=70))}
    ),
    st.fixed_dictionaries({"step_completed": st.builds(events.StepCompleted)}),
    st.fixed_dictionaries({"tool_called": st.builds(events.ToolCalled, tool=wire_text)}),
    st.fixed_dictionaries({"file_changed": st.builds(events.FileChanged, path=wire_text)}),
)


@given(huge, st.integers(-(2**63), 2**63 - 1), numbers, wire_bodies)
@example(0, 0, 0, {})
@example(2**63, 0, 0, {})
@example(1, 253402300799, 2_000_000_000, {})
@example(1, 253402300800, 0, {})
@example(1, -62135596801, 0, {})
@example(1, -62135596800, -1, {})
@example(1, 0, 0, {"tool_returned": events.ToolReturned()})
@example(1, 0, 0, {"text_produced": events.TextProduced()})
def test_decoding_gives_an_event_or_an_undecodable_message(sequence, moment, nanos, body):
    message = events.Event(sequence=sequence, **body)
    message.observe_time.seconds = moment
    message.observe_time.nanos = nanos
    try:
        event = codec.event_from_wire("p", over_the_wire(message))
    except UndecodableMessage:
        return
    assert isinstance(event, Event)
    assert 1 <= event.sequence < 2**63
    assert event.time.tzinfo is UTC
    assert (event.body is None) == (not body)


@given(st.binary(max_size=300))
def test_bytes_that_happen_to_be_an_event_decode_or_are_refused(raw):
    try:
        message = events.Event.FromString(raw)
    except DecodeError:
        return
    try:
        codec.event_from_wire("p", message)
    except UndecodableMessage:
        return


def returned(**fields):
    return events.Event(sequence=1, tool_returned=events.ToolReturned(**fields))


def produced(**fields):
    return events.Event(sequence=1, text_produced=events.TextProduced(**fields))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (events.Event(sequence=0), "at least 1"),
        (events.Event(sequence=2**63), "below 2\\*\\*63"),
        (returned(), "outcome of 0"),
        (returned(outcome=99), "outcome of 99"),
        (produced(), "kind of 0"),
        (produced(kind=-1), "kind of -1"),
        (events.Event(sequence=1, observe_time=Timestamp(seconds=10**12)), "outside the calendar"),
    ],
)
def test_what_makes_no_sense_is_named(message, told):
    with pytest.raises(UndecodableMessage, match=told):
        codec.event_from_wire("p", message)


@given(numbers)
def test_an_outcome_or_a_validation_is_known_or_refused(number):
    for decode, known in (
        (codec.outcome_from_wire, range(5)),
        (codec.validation_from_wire, range(3)),
    ):
        if number in known:
            decode(number)
        else:
            with pytest.raises(UndecodableMessage, match=str(number)):
                decode(number)


def test_outcomes_and_validations_survive_the_wire():
    for outcome in SessionOutcome:
        assert codec.outcome_from_wire(codec.outcome_to_wire(outcome)) is outcome
    for validated in (None, True, False):
        assert codec.validation_from_wire(codec.validation_to_wire(validated)) is validated


# What comes back.

citations = st.builds(Citation, memory_id=clean, label=clean, reason=clean)
some_citations = st.lists(citations, max_size=3).map(tuple)


@given(st.builds(Injection, text=clean, citations=some_citations))
def test_an_injection_survives_the_wire(injection):
    message = over_the_wire(codec.injection_to_wire(injection))
    assert codec.injection_from_wire(message) == injection


@given(
    st.builds(
        SessionSummary,
        state=st.sampled_from(SessionState),
        used=some_citations,
        learnt=some_citations,
        held_back=st.lists(
            st.builds(HeldBack, label=clean, reason=clean, release=clean), max_size=3
        ).map(tuple),
        line=clean,
    )
)
def test_a_summary_survives_the_wire(summary):
    assert codec.summary_from_wire(over_the_wire(codec.summary_to_wire(summary))) == summary


@given(
    st.builds(
        MemoryHit,
        memory_id=clean,
        type=clean,
        content=clean,
        files=st.lists(clean, max_size=3).map(tuple),
        confidence=st.floats(0, 1),
        score=st.floats(0, 1),
        label=clean,
        shown=st.booleans(),
        needs_review=st.booleans(),
    )
)
def test_a_hit_survives_the_wire(hit):
    response = wire.SearchResponse(hits=[codec.hit_to_wire(hit)], text="t")
    assert codec.search_from_wire(over_the_wire(response)).hits == (hit,)


@given(st.sampled_from([1, 2, 3, 99, -5]))
def test_a_state_of_the_future_is_unknown(number):
    summary = codec.summary_from_wire(wire.SessionSummary(state=number))
    assert (summary.state is SessionState.UNKNOWN) == (number not in (1, 2, 3))


@pytest.mark.parametrize(
    ("response", "decode"),
    [
        (wire.StartSessionResponse, codec.start_from_wire),
        (wire.SearchResponse, codec.search_from_wire),
        (wire.Injection, codec.injection_from_wire),
        (wire.SessionSummary, codec.summary_from_wire),
    ],
)
def test_any_answer_that_can_be_read_can_be_decoded(response, decode):
    @given(st.binary(max_size=200))
    def check(raw):
        try:
            message = response.FromString(raw)
        except DecodeError:
            return
        decode(message)

    check()


# Cutting.

limits = st.integers(0, 300)


@given(dirty, limits)
def test_a_cut_text_keeps_within_the_limit_and_can_be_sent(text, limit):
    cut = codec.cut(text, limit)
    assert len(cut) <= limit
    cut.encode("utf-8")


@given(dirty, limits)
@example("x" * 1000, 100)
@example("\ud800" * 1000, 100)
def test_cutting_twice_is_cutting_once(text, limit):
    once = codec.cut(text, limit)
    assert codec.cut(once, limit) == once


@given(clean, limits)
def test_what_fits_is_left_alone(text, limit):
    if len(text) <= limit:
        assert codec.cut(text, limit) == text


def test_a_megabyte_of_reasoning_keeps_its_ends_and_says_what_is_missing():
    text = "begin " + "x" * 1_000_000 + " end"
    body = TextProduced(kind=TextKind.REASONING, text=text)
    decoded = codec.event_from_wire("p", over_the_wire(codec.event_to_wire(1, 0.0, body))).body
    assert isinstance(decoded, TextProduced)
    head, marker, tail = decoded.text.split("\n")
    assert decoded.text == codec.cut(text)
    assert head.startswith("begin x")
    assert tail.endswith("x end")
    assert marker == f"[... {len(text) - len(head) - len(tail)} characters cut by seamark ...]"
    assert len(decoded.text) <= codec.LONGEST_TEXT


def test_more_names_than_anybody_reads_are_left_out():
    body = MemoryRecorded(type="t", content="c", files=tuple(map(str, range(1000))))
    decoded = codec.event_from_wire("p", codec.event_to_wire(1, 0.0, body)).body
    assert isinstance(decoded, MemoryRecorded)
    assert decoded.files == body.files[: codec.MOST_NAMES]


@given(st.integers())
def test_a_count_that_cannot_be_is_brought_into_range(count):
    message = codec.event_to_wire(1, 0.0, StepCompleted(input_tokens=count))
    assert message.step_completed.input_token_count == max(0, min(count, 2**32 - 1))


LARGEST = [
    UserSaid(text="\U0001f600" * 10**6),
    ToolCalled(call_id="ü" * 10**4, tool="ü" * 10**4, arguments_json="\U0001f600" * 10**6),
    MemoryRecorded(
        type="t" * 10**5,
        content="\U0001f600" * 10**6,
        files=("\U0001f600" * 10**4,) * 1000,
        tags=("\U0001f600" * 10**4,) * 1000,
    ),
]


@pytest.mark.parametrize("body", LARGEST, ids=lambda body: type(body).__name__)
def test_no_event_is_larger_than_half_a_megabyte(body):
    assert codec.event_to_wire(1, 0.0, body).ByteSize() < 600_000
