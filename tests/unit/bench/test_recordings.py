"""Recorded sessions become the events they were."""

import gzip
import json

import pytest

from bench.keepers import Keeper, run, telling
from bench.sessions import read
from seamark_sidecar.model.candidate import Candidate
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.signal import SignalKind

ROWS = [
    {"type": "user", "step": 0, "text": "Fix it."},
    {"type": "step", "step": 1},
    {"type": "reasoning", "step": 1, "kind": "say", "text": "I look."},
    {
        "type": "tool_call",
        "step": 1,
        "tool": "Read",
        "args": {"command": "cat a.py", "file_path": "a.py", "files": ["a.py"]},
    },
    {"type": "tool_result", "step": 1, "result": "x = 1", "is_error": True},
]


@pytest.fixture
def file(tmp_path):
    def written(content, name="s@1.json"):
        path = tmp_path / name
        text = json.dumps(content).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return written


def test_a_recording_is_shown_as_events_of_one_producer(file):
    recording = read(file({"session_id": "s@1", "events": ROWS}))
    assert recording is not None
    assert [event.sequence for event in recording.events()] == [1, 2, 3, 4, 5, 6]
    assert recording.watched().history.actions == {"read": 1}
    assert [recording.own_step(step) for step in (0, 1, 2)] == [0, 1, 1]


@pytest.mark.parametrize("content", [[], {}, {"events": 3}, "x"])
def test_another_form_is_no_recording(file, content):
    assert read(file(content)) is None


def candidate(content, files=()):
    return Candidate(
        signal=SignalKind.DISCOVERY,
        source=Source.OBSERVER_INFERRED,
        type=MemoryType.GOTCHA,
        content=content,
        key="k",
        files=files,
    )


def test_a_keeper_is_found_by_its_words_and_one_of_its_files():
    keeper = Keeper(
        words=telling("Coupons vanish silently during rounding"), files=frozenset({"a.py"})
    )
    assert keeper.is_in(candidate("coupons vanish", ("src/a.py",)))
    assert not keeper.is_in(candidate("coupons vanish", ("src/b.py",)))
    assert not keeper.is_in(candidate("coupons", ("src/a.py",)))


def test_without_sessions_it_says_so_and_measures_nothing(tmp_path):
    report = run(tmp_path, tmp_path)
    assert report.rows == ()
    assert report.notes[0].startswith("Skipped")
