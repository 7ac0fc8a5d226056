"""Whatever a session does, its taint is bounded, steady, and only ever grows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.events import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark_sidecar.model.marks import EarlierMarks
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.calls.use import Action, Origin, ToolUse, Touch
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.results.result import Result
from seamark_sidecar.observer.taint import Taint
from seamark_sidecar.observer.text.spans import SHINGLE, WINDOW, fingerprints, repeats

WORDS = st.lists(st.sampled_from([f"w{chr(97 + n)}" for n in range(26)]), max_size=40)
TEXTS = st.one_of(st.text(max_size=40), WORDS.map(" ".join))
PATHS = st.sampled_from(["a.py", "b.md", "node_modules/x.js", "vendor/y.go", "src/ü.py"])


@st.composite
def uses(draw):
    action = draw(st.sampled_from(Action))
    kinds = st.sampled_from([Action.READ, Action.EDIT, Action.WRITE])
    return ToolUse(
        call_id="c",
        tool="tool",
        action=action,
        touches=tuple(Touch(draw(PATHS), draw(kinds)) for _ in range(draw(st.integers(0, 3)))),
        origin=draw(st.sampled_from([None, None, None, *Origin])),
        written=draw(TEXTS),
        outside=tuple(draw(st.lists(PATHS, max_size=2))),
    )


@st.composite
def moments(draw):
    step, found = 0, []
    for _ in range(draw(st.integers(0, 10))):
        step += draw(st.integers(0, 1))
        use = draw(uses())
        text = draw(TEXTS)
        body = draw(
            st.sampled_from(
                [
                    ToolCalled(call_id="c", tool="t"),
                    ToolReturned(call_id="c", outcome=Outcome.OK, result=text),
                    ToolReturned(call_id="c", outcome=Outcome.ERROR, result=text),
                    TextProduced(kind=TextKind.REASONING, text=text),
                    UserSaid(text=text),
                    MemoryRecorded(type="gotcha", content=text),
                    FileChanged(path=text),
                    StepCompleted(),
                ]
            )
        )
        has_use = isinstance(body, ToolCalled | ToolReturned)
        found.append(
            Moment(
                step=step,
                time=0.0,
                body=body,
                use=use if has_use else None,
                result=Result(changed=draw(st.lists(PATHS, max_size=2).map(tuple)))
                if isinstance(body, ToolReturned)
                else None,
                in_sight=draw(st.lists(PATHS, max_size=2).map(tuple)),
            )
        )
    return found


@st.composite
def earlier(draw):
    spans = fingerprints(draw(TEXTS))
    files = draw(st.lists(PATHS, max_size=2))
    return EarlierMarks(1, dict.fromkeys(spans, 1), dict.fromkeys(files, 1))


def told(step, text="The cart rounds.", kind=SignalKind.SELF_CORRECTION):
    return Signal(kind=kind, step=step, confidence=0.5, key="k", content=text)


@settings(max_examples=80)
@given(moments(), earlier())
def test_the_same_session_has_the_same_taint_and_it_never_fades(session, known):
    one, other = Taint(known), Taint(known)
    since = None
    for moment in session:
        one.see(moment)
        other.see(moment)
        if since is not None:
            assert one.from_step == since
        since = one.from_step
        assert since is None or since <= moment.step
    assert one.hashes() == other.hashes()
    assert list(one.hashes().spans) == list(other.hashes().spans)
    assert one.from_step == other.from_step
    for step in range(30):
        assert one.of(told(step)) == other.of(told(step))
        if since is not None and step > since:
            assert one.of(told(step)) is not None


@settings(max_examples=80)
@given(moments())
def test_a_session_that_nothing_came_into_marks_nothing(session):
    taint = Taint()
    for moment in session:
        taint.see(moment)
    if taint.from_step is None:
        assert not taint.hashes().files
        assert not taint.hashes().spans
        assert taint.of(told(99)) is None


@given(WORDS, st.integers(0, 30), st.integers(0, 30))
def test_any_part_that_is_long_enough_is_known_again(words, start, length):
    part = words[start : start + length]
    known = fingerprints(" ".join(words))
    if len(part) >= SHINGLE + WINDOW - 1:
        assert repeats(" ".join(part), known)
    if len(part) < SHINGLE:
        assert not repeats(" ".join(part), known)


@given(st.text(max_size=300))
def test_any_text_has_fingerprints_that_can_be_stored(text):
    for each in fingerprints(text):
        assert 0 <= each < 2**63
