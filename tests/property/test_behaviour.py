"""Detectors of behaviour under whatever a session may do."""

import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.calls.use import Action, Touch
from seamark_sidecar.observer.results.errors import failure_of
from seamark_sidecar.observer.results.fingerprints import LONGEST, fingerprint
from seamark_sidecar.observer.results.result import Result
from seamark_sidecar.observer.results.result import Tests as Counts
from seamark_sidecar.observer.signals.backtrack import Backtrack
from seamark_sidecar.observer.signals.co_access import CoAccess
from seamark_sidecar.observer.signals.config_touch import ConfigTouch
from seamark_sidecar.observer.signals.context_token_spike import ContextTokenSpike
from seamark_sidecar.observer.signals.error_retry import ErrorRetry
from seamark_sidecar.observer.signals.external_reference import ExternalReference
from seamark_sidecar.observer.signals.file_access import FileAccessed
from seamark_sidecar.observer.signals.glob_ignore import GlobIgnore
from seamark_sidecar.observer.signals.import_chase import ImportChase
from seamark_sidecar.observer.signals.read_abandon import ReadAbandon
from seamark_sidecar.observer.signals.repeated_grep import RepeatedGrep
from seamark_sidecar.observer.signals.sequence import Recurring
from seamark_sidecar.observer.signals.step_overrun import StepOverrun
from seamark_sidecar.observer.signals.test_order import OrderOfTests
from seamark_sidecar.observer.signals.time_anomaly import TimeAnomaly
from tests.unit.sidecar.observer import doing

DETECTORS = (
    Backtrack, CoAccess, ConfigTouch, ContextTokenSpike, ErrorRetry, ExternalReference,
    FileAccessed, GlobIgnore, ImportChase, ReadAbandon, RepeatedGrep, Recurring, StepOverrun,
    OrderOfTests, TimeAnomaly,
)  # fmt: skip
# Of one detector, whatever it sees.
MOST_BYTES = 2_500_000

# Few, so that sessions come back to them, and some that no agent would use.
paths = st.sampled_from(
    [
        "a.py",
        "src/b.py",
        "src/c.py",
        "tests/test_b.py",
        "go.mod",
        "package.json",
        "fix.py",
        "ü ñ/x",
        "",
    ]
) | st.text(max_size=30)
texts = st.sampled_from(
    [
        "",
        "x = 1\ny = total(cart)\n",
        "E   ValueError: odd\nexit code 1",
        "import a\nfrom src import b",
        "exit code 1",
    ]
) | st.text(max_size=200)
touches = st.builds(
    Touch,
    path=paths,
    action=st.sampled_from([Action.READ, Action.EDIT, Action.WRITE]),
    first_line=st.integers(-1, 40),
    last_line=st.integers(-1, 40),
    replaced=texts,
)
uses = st.fixed_dictionaries(
    {
        "action": st.sampled_from(list(Action)),
        "tool": st.sampled_from(["bash", "Read", "?"]),
        "touches": st.lists(touches, max_size=4).map(tuple),
        "outside": st.lists(paths, max_size=2).map(tuple),
        "patterns": st.lists(st.sampled_from(["total", "x"]) | texts, max_size=2).map(tuple),
        "places": st.lists(paths, max_size=2).map(tuple),
        "command": st.sampled_from(["", "pytest", "pytest a", "sed -i 's/a/b/' a.py"]) | texts,
        "runner": st.sampled_from(["", "pytest"]),
        "reference": st.sampled_from(["", "how", "https://x.example"]),
        "reverted": st.sampled_from([(), (".",), ("a.py",)]),
        "written": texts,
    }
)
counts = st.integers(-1, 3)
results = st.builds(
    Result,
    tests=st.none() | st.builds(Counts, passed=counts, failed=counts),
    found=st.lists(paths, max_size=20).map(tuple),
    match_count=st.integers(-1, 40),
)
steps = st.integers(-5, 60)
times = st.floats(-10, 1e6)


@st.composite
def returns(draw):
    use = doing._use(**draw(uses))
    outcome = draw(st.sampled_from(Outcome))
    body = ToolReturned(call_id=use.call_id, outcome=outcome, result=draw(texts))
    result = draw(results)
    return doing.returned(
        use,
        body.result,
        step=draw(steps),
        time=draw(times),
        outcome=outcome,
        result=Result(
            failure=failure_of(body),
            tests=result.tests,
            found=result.found,
            match_count=result.match_count,
        ),
        in_sight=draw(st.lists(paths, max_size=3).map(tuple)),
    )


moments = (
    returns()
    | st.builds(doing.called, steps, times)
    | st.builds(doing.asked, texts)
    | st.builds(doing.said, texts)
    | st.builds(doing.changed, paths, steps)
    | st.builds(doing.stepped, steps, st.integers(-1, 100_000), times)
)


@pytest.mark.parametrize("make", DETECTORS)
@given(seen=st.lists(moments, max_size=60))
def test_the_same_moments_give_the_same_signals(make, seen):
    one, other = make(), make()
    for moment in seen:
        one.see(moment)
        list(one.signals())
        other.see(moment)
    found = list(one.signals())
    assert found == list(other.signals()) == list(one.signals())
    for signal in found:
        assert 0 < signal.confidence <= 1
        assert (signal.type is None) == (not signal.content)
        assert len(signal.content) < 2_500
        assert len({each.key for each in found}) <= len(found)


@pytest.mark.parametrize("make", DETECTORS)
@given(seen=st.lists(moments, max_size=40), more=st.lists(moments, max_size=40))
def test_what_was_written_down_goes_on_as_if_nothing_had_been(make, seen, more):
    detector = make()
    for moment in seen:
        detector.see(moment)
    restored = pickle.loads(pickle.dumps(detector))
    for moment in more:
        detector.see(moment)
        restored.see(moment)
    assert list(detector.signals()) == list(restored.signals())


@pytest.mark.parametrize("make", DETECTORS)
@given(seen=st.lists(moments, max_size=40), more=st.lists(moments, max_size=20))
def test_a_detector_that_let_go_still_sees(make, seen, more):
    detector = make()
    for moment in seen:
        detector.see(moment)
    before = detector.size()
    detector.shrink()
    assert detector.size() <= before
    for moment in more:
        detector.see(moment)
        list(detector.signals())


def varied(number, draw):
    """One of the things a long session does, never quite the same."""
    step, path = number // 4, f"src/m{draw.randrange(900)}/f{draw.randrange(40)}.py"
    word = f"name{draw.randrange(100_000)}"
    match draw.randrange(9):
        case 0:
            return doing.read(path, step=step, text=f"import {word}\n" * 60, time=float(number))
        case 1:
            return doing.edit(
                path, step, f"a = {word}\n" * 9, "\n".join(f"b{n} = {word}" for n in range(60))
            )
        case 2:
            return doing.run(
                f"make {word}", f"error: no rule for {word}", step, outcome=Outcome.ERROR
            )
        case 3:
            return doing.grep(
                word, path, step=step, found=tuple(f"{path}{n}" for n in range(50)), count=50
            )
        case 4:
            return doing.glob(f"**/{word}*", [f"{path}{n}" for n in range(400)], step)
        case 5:
            return doing.web(f"https://x.example/{word}", step)
        case 6:
            return doing.write(f"fix_{word}.py", step, word)
        case 7:
            return doing.called(step, float(number * 7))
        case _:
            return doing.stepped(step, draw.randrange(200_000))


@pytest.mark.parametrize("make", DETECTORS)
def test_a_session_without_end_is_held_in_bounds(make):
    detector, draw = make(), random.Random(7)
    for number in range(12_000):
        detector.see(varied(number, draw))
    assert detector.size() < MOST_BYTES
    assert len(pickle.dumps(detector)) < MOST_BYTES
    assert len(list(detector.signals())) <= 250


@pytest.mark.parametrize("make", DETECTORS)
def test_ten_thousand_calls_in_one_step_are_held_in_bounds(make):
    detector, draw = make(), random.Random(3)
    for number in range(10_000):
        moment = varied(number, draw)
        detector.see(
            type(moment)(
                **{**{name: getattr(moment, name) for name in moment.__slots__}, "step": 1}
            )
        )
    assert len(pickle.dumps(detector)) < MOST_BYTES


@given(st.text(max_size=3 * LONGEST))
def test_a_fingerprint_of_anything_is_one_line(text):
    print_ = fingerprint(text)
    assert "\n" not in print_
    assert len(print_) <= 12 * LONGEST


hexes = st.text("0123456789abcdef", min_size=8, max_size=12).filter(
    lambda text: not text.isdigit() and not text.isalpha()
)
variables = st.fixed_dictionaries(
    {
        "path": st.sampled_from(["/home/u", "/tmp/x1", "C:\\work", "/a/b/c d".replace(" ", "_")]),
        "line": st.integers(0, 99_999),
        "address": st.integers(0, 2**60).map(hex),
        "id": hexes,
        "time": st.datetimes().map(lambda at: at.strftime("2026-%m-%dT%H:%M:%SZ")),
        "seconds": st.floats(0, 999).map(lambda each: f"{each:.2f}s"),
        "version": st.tuples(*[st.integers(0, 99)] * 3).map(
            lambda parts: ".".join(map(str, parts))
        ),
        "port": st.integers(1, 65_535),
        "value": st.text("abc xyz-!?", max_size=20),
    }
)
MESSAGE = (
    "ValueError: {path}/cart.py:{line}: object at {address} of commit {id} at {time} took "
    "{seconds} with v{version} on localhost:{port}: got '{value}'"
)


@given(variables, variables)
def test_a_fingerprint_is_the_same_whatever_changes_from_run_to_run(one, other):
    assert fingerprint(MESSAGE.format(**one)) == fingerprint(MESSAGE.format(**other))


words = st.text("abcdefghijklmnop", min_size=4, max_size=10)


@given(words, words, words)
def test_the_kind_of_error_and_the_words_of_its_message_tell_it_apart(one, other, rest):
    if one != other:
        assert fingerprint(f"{one}Error: {rest}") != fingerprint(f"{other}Error: {rest}")
        assert fingerprint(f"ValueError: {rest} {one}") != fingerprint(
            f"ValueError: {rest} {other}"
        )
