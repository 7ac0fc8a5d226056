"""`seamark replay` with the real SDK and the real sidecar."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest

from seamark import codec
from seamark.events import SessionOutcome
from seamark.wire.v1 import events_pb2, operator_pb2
from seamark_sidecar.lock import read_holder
from seamark_sidecar.recordings import neutral

from .recorded import session, write
from .sidecar.process import PATIENCE, Sidecar, Talk, refused, wait_until

COMMAND = (sys.executable, "-m", "seamark_sidecar", "replay")


@pytest.fixture
def sidecar():
    """One that is not started yet; whatever runs in its directory in the end is stopped."""
    directory = Path(tempfile.mkdtemp(prefix="sm"))
    made = Sidecar(directory)
    yield made
    made.end()
    run(made, "down", "--force", command=COMMAND[:-1])
    shutil.rmtree(directory, ignore_errors=True)


def run(sidecar, *arguments, command=COMMAND):
    return subprocess.run(
        [*command, *map(str, arguments)],
        env={**sidecar.environ, "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def lines(done, code=0):
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_times(line):
    """A line as bytes, without what a clock measured."""
    return json.dumps({key: value for key, value in line.items() if key != "us_per_event"}).encode()


def test_a_session_is_one_line_in_the_numbers_of_the_recording(sidecar, tmp_path):
    path = write(tmp_path / "r", session("one", steps=12, first=40))
    (line,) = lines(run(sidecar.start(), path, "--json", "--calls"))
    assert set(line) >= {
        *("session_id", "events", "actions", "files", "tests", "signals", "tainted_from_step"),
        *("us_per_event", "scratchpad_bytes", "calls"),
    }
    assert line["session_id"] == "one"
    # What happened, and the end of each of 14 steps.
    assert line["events"] == 1 + 12 * 3 + 1 + 14
    assert [call["step"] for call in line["calls"]] == list(range(40, 52))
    assert {call["tool"] for call in line["calls"]} == {"bash"}
    assert sum(line["actions"].values()) == 12
    found = {signal["type"]: signal for signal in line["signals"]}
    assert found["self_correction"]["step"] == 52
    assert all(40 <= signal["step"] <= 52 for signal in line["signals"])
    assert 0 < line["us_per_event"]["p50"] <= line["us_per_event"]["p99"]
    assert line["scratchpad_bytes"] > 0


def test_calls_are_told_only_when_asked_for(sidecar, tmp_path):
    (line,) = lines(run(sidecar.start(), write(tmp_path / "r", session("one")), "--json"))
    assert "calls" not in line


def test_a_sidecar_is_started_when_none_runs(sidecar, tmp_path):
    (line,) = lines(run(sidecar, write(tmp_path / "r", session("one")), "--json"))
    assert line["session_id"] == "one"


def test_nothing_is_learnt_and_no_event_stays(sidecar, tmp_path):
    path = write(tmp_path / "r", session("one"))
    lines(run(sidecar.start(), path, "--json"))
    assert sidecar.memories("acme/shop") == []
    assert sidecar.rows("journal.db", "SELECT count(*) FROM events") == [(0,)]
    ((state, origin, taught),) = sidecar.rows(
        "memory.db", "SELECT state, origin, taught FROM sessions"
    )
    assert (state, origin, taught) == ("closed", "replay", 0)
    explained = sidecar.explain("")
    assert {each.fate for each in explained.candidates} == {"discarded"}
    assert "nobody vouched" in explained.line


@pytest.mark.parametrize("kind", ["terminal", "insights", "pr_review"])
def test_a_kind_of_session_that_teaches_by_its_end_alone_teaches_nothing(sidecar, tmp_path, kind):
    path = write(tmp_path / "r", session("one"))
    lines(run(sidecar.start(), path, "--json", "--session-type", kind))
    assert sidecar.memories("acme/shop") == []


def test_an_app_that_says_its_recording_was_validated_teaches_nothing(sidecar):
    client = sidecar.start().client()
    told = client.start_session(project_name="acme/shop", origin="import")
    for sent in neutral.read(session("one"), "one").events():
        told.observe_at(sent.seconds, sent.body)
    told.complete(SessionOutcome.SUCCESS, validated=True)
    assert sidecar.memories("acme/shop") == []


def test_a_session_that_is_kept_can_be_looked_at(sidecar, tmp_path):
    path = write(tmp_path / "r", session("one"))
    lines(run(sidecar.start(), path, "--json", "--keep"))
    ((session_id, state),) = sidecar.rows("memory.db", "SELECT id, state FROM sessions")
    assert state == "open"
    request = operator_pb2.ObserveSessionRequest(session_id=session_id[:10])
    answer = sidecar.ask("ObserveSession", request)
    assert answer.origin == "replay"
    assert {each.contaminated_by for each in answer.candidates} == {"replay"}


def test_events_have_the_times_of_the_recording(sidecar, tmp_path):
    recorded = session("one", steps=2)
    for event in recorded["events"]:
        event["ts"] = "2024-02-03T04:05:06Z"
    lines(run(sidecar.start(), write(tmp_path / "r", recorded), "--json", "--keep"))
    rows = sidecar.rows("journal.db", "SELECT message FROM events")
    times = {events_pb2.Event.FromString(row[0]).observe_time.seconds for row in rows}
    assert times == {1706933106}


def test_an_origin_that_nobody_knows_is_refused(sidecar):
    with refused("BAD_REQUEST"):
        Talk(sidecar.start(), project="shop", origin="hearsay")


def test_what_cannot_be_read_is_named_and_the_others_are_replayed(sidecar, tmp_path):
    path = write(tmp_path / "r", session("a"), session("c"))
    (path / "b.json").write_text(json.dumps(session("b"))[:-40])
    (path / "package.json").write_text('{"name": "shop"}')
    done = run(sidecar.start(), path, tmp_path / "absent.traj", "--json")
    assert [line["session_id"] for line in lines(done, code=1)] == ["a", "c"]
    for name in ("b.json", "package.json", "absent.traj"):
        assert f"{name} was not replayed" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_nothing_is_to_replay_that_is_said(sidecar, tmp_path):
    done = run(sidecar.start(), tmp_path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["reason"] == "NOTHING_TO_REPLAY"


def test_only_a_person_can_vouch(sidecar, tmp_path):
    done = run(sidecar.start(), write(tmp_path / "r", session("one")), "--vouch", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["reason"] == "NOT_INTERACTIVE"
    assert sidecar.rows("memory.db", "SELECT count(*) FROM sessions") == [(0,)]


def test_what_a_person_vouches_for_is_learnt(sidecar, tmp_path):
    sidecar.start()
    path = write(tmp_path / "r", session("one"))
    at_a_terminal(sidecar, path, "--vouch", "--project", tmp_path)
    rows = sidecar.rows("memory.db", "SELECT content, signal FROM memories")
    assert any("cents" in content for content, signal in rows if signal == "self_correction")


def at_a_terminal(sidecar, *arguments):
    reader, writer = os.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env={**sidecar.environ, "TERM": "dumb"},
            stdin=writer,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=90,
            check=False,
        )
    finally:
        os.close(writer)
        os.close(reader)
    assert done.returncode == 0, done.stderr


def test_a_bar_on_the_terminal_keeps_out_of_what_is_printed(sidecar, tmp_path):
    path = write(tmp_path / "r", *(session(f"s{n}") for n in range(5)))
    reader, writer = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, str(path), "--json"],
        env={**sidecar.start().environ, "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=writer,
    )
    os.close(writer)
    out, _ = process.communicate(timeout=60)
    shown = os.read(reader, 65536)
    os.close(reader)
    assert [json.loads(line)["session_id"] for line in out.splitlines()] == [
        *("s0", "s1", "s2", "s3", "s4")
    ]
    assert b"/5" in shown
    assert b"session_id" not in shown


def test_for_people_there_is_a_summary_without_anything_that_steers_a_terminal(sidecar, tmp_path):
    hostile = session("x")
    hostile["session_id"] = "\x1b[2Jone\u202e"
    (tmp_path / "a.json").write_text(json.dumps(hostile))
    done = run(sidecar.start(), tmp_path / "a.json", write(tmp_path / "r", session("two")))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "self_correction" in done.stdout
    assert "in cents" in done.stdout
    assert "2 sessions" in done.stdout


def test_replaying_again_gives_the_same_bytes(sidecar, tmp_path):
    path = write(tmp_path / "r", *(session(f"s{n}", steps=20 + n) for n in range(4)))
    sidecar.start()
    first = list(map(without_times, lines(run(sidecar, path, "--json", "--calls"))))
    again = list(map(without_times, lines(run(sidecar, path, "--json", "--calls"))))
    assert first == again


def test_a_sidecar_that_is_killed_midway_changes_nothing(sidecar, tmp_path):
    sessions = [session(f"s{n}", steps=600 + n) for n in range(3)]
    path = write(tmp_path / "r", *sessions)
    whole = list(map(without_times, lines(run(sidecar, path, "--json", "--calls"))))
    counted = sidecar.status().event_count
    process = subprocess.Popen(
        [*COMMAND, str(path), "--json", "--calls"], env=sidecar.environ, stdout=subprocess.PIPE
    )
    with process:
        # A new one counts from 0.
        for before in (counted, 0):
            wait_until(partial(has_more, sidecar, before + 700))
            assert process.poll() is None
            kill_running(sidecar)
            # The command starts another.
            wait_until(sidecar._answers)
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 0
    assert [without_times(json.loads(line)) for line in out.splitlines()] == whole


def has_more(sidecar, events):
    return sidecar.status().event_count > events


def kill_running(sidecar):
    holder = read_holder(sidecar.data)
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)


def test_batches_that_come_twice_and_in_another_order_change_nothing(sidecar):
    """Two processes of an agent report the same session; who is heard first is chance."""
    sidecar.start()
    sent = list(neutral.read(session("one", steps=40), "one").events())
    straight = Talk(sidecar, project="shop")
    for batch in batches(straight, sent):
        straight.ingest(batch)
    expected = observed(sidecar, straight)
    assert expected.signals
    for seed in range(3):
        chance = random.Random(seed)
        talk = Talk(sidecar, project="shop")
        waiting = batches(talk, sent)
        # Some come twice, and the producers overtake each other.
        waiting += chance.sample(waiting, len(waiting) // 2)
        chance.shuffle(waiting)
        for batch in waiting:
            talk.ingest(batch)
        answer = observed(sidecar, talk)
        assert answer.signals == expected.signals
        assert answer.files == expected.files
        assert answer.calls == expected.calls
        assert answer.candidates == expected.candidates


def batches(talk, sent, size=7):
    """The events of two producers in turn, in batches of few."""
    made = []
    for position, producer in enumerate(("p", "q")):
        own = [
            codec.event_to_wire(number, each.seconds, each.body)
            for number, each in enumerate(sent[position::2], 1)
        ]
        for start in range(0, len(own), size):
            made.append(talk.batch(producer_id=producer))
            made[-1].events.extend(own[start : start + size])
    return made


def observed(sidecar, talk):
    return sidecar.ask("ObserveSession", operator_pb2.ObserveSessionRequest(session_id=talk.id))


def test_ten_thousand_calls_in_one_step_are_replayed(sidecar, tmp_path):
    calls = [
        {"type": "tool_call", "step": 1, "id": f"c{n}", "tool": "Read", "args": {"path": f"{n}.py"}}
        for n in range(10_000)
    ]
    results = [
        {"type": "tool_result", "step": 1, "id": f"c{n}", "result": "x"} for n in range(10_000)
    ]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"session_id": "many", "events": calls + results}))
    began = time.monotonic()
    (line,) = lines(run(sidecar.start(), path, "--json"))
    assert time.monotonic() - began < PATIENCE
    assert line["events"] == 20_001
    assert sum(line["actions"].values()) == 10_000
