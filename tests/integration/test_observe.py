"""`seamark observe` beside a session of the real SDK."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from seamark.events import SessionOutcome
from seamark_sidecar.recordings import neutral

from .recorded import session
from .sidecar.process import PATIENCE, Sidecar, wait_until

COMMAND = (sys.executable, "-m", "seamark_sidecar", "observe")


@pytest.fixture
def sidecar():
    directory = Path(tempfile.mkdtemp(prefix="sm"))
    made = Sidecar(directory)
    yield made.start()
    made.end()
    shutil.rmtree(directory, ignore_errors=True)


class Watching:
    """The command, and what it has printed so far."""

    def __init__(self, sidecar, *arguments, stdout=subprocess.PIPE):
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            env={**sidecar.environ, "COLUMNS": "80", "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout or ():
            self.lines.append(line)

    def saw(self, kind):
        return [each for each in map(json.loads, list(self.lines)) if each["event"] == kind]

    def ended(self):
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def watch(sidecar):
    made = []

    def begin(*arguments, **changes):
        made.append(Watching(sidecar, *arguments, **changes))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def report(told, *, steps=12):
    for sent in neutral.read(session("x", steps=steps), "x").events():
        told.observe(sent.body)


def test_what_happens_is_told_as_it_comes_until_the_session_ends(sidecar, watch):
    client = sidecar.client()
    told = client.start_session(project_name="shop")
    seen = watch("--json")
    wait_until(lambda: seen.saw("session"))
    assert seen.saw("call") == []
    report(told)
    wait_until(lambda: seen.saw("candidate"))
    wait_until(lambda: len(seen.saw("call")) == 12)
    report(told)  # The calls of the neutral form have the same ids: they were seen.
    assert {each["type"] for each in seen.saw("signal")} >= {"self_correction"}
    told.complete(SessionOutcome.FAILURE)
    code, said = seen.ended()
    assert (code, said) == (0, "")
    assert json.loads(seen.lines[-1]) == {"event": "ended", "session_id": told.id}
    assert len(seen.saw("call")) == 12
    shown = [line for line in seen.lines if '"call"' not in line]
    assert len(shown) == len(set(shown))


def test_a_session_that_ends_without_an_event_ends_the_watch(sidecar, watch):
    told = sidecar.client().start_session(project_name="shop")
    seen = watch("--json")
    wait_until(lambda: seen.saw("session"))
    told.complete(SessionOutcome.FAILURE)
    assert seen.ended() == (0, "")


def test_it_waits_for_a_session(sidecar, watch):
    seen = watch("--json")
    with pytest.raises(subprocess.TimeoutExpired):
        seen.process.wait(1.0)
    assert seen.lines == []
    told = sidecar.client().start_session(project_name="shop")
    wait_until(lambda: seen.saw("session"))
    assert seen.saw("session")[0]["session_id"] == told.id


def test_it_stays_with_the_session_it_found(sidecar, watch):
    client = sidecar.client()
    first = client.start_session(project_name="shop")
    seen = watch("--json")
    wait_until(lambda: seen.saw("session"))
    second = client.start_session(project_name="shop")
    report(second)
    report(first)
    wait_until(lambda: seen.saw("call"))
    assert {each["session_id"] for each in seen.saw("session")} == {first.id}


def test_a_project_can_be_chosen(sidecar, watch, tmp_path):
    client = sidecar.client()
    wanted = client.start_session(project_path=str(tmp_path))
    client.start_session(project_name="another")
    seen = watch("--json", "--project", str(tmp_path))
    wait_until(lambda: seen.saw("session"))
    assert seen.saw("session")[0]["session_id"] == wanted.id


def test_the_beginning_of_an_id_names_a_session(sidecar, watch):
    client = sidecar.client()
    wanted = client.start_session(project_name="shop")
    client.start_session(project_name="shop")
    seen = watch(wanted.id[:12], "--json")
    wait_until(lambda: seen.saw("session"))
    assert seen.saw("session")[0]["session_id"] == wanted.id


def test_a_session_that_has_ended_is_explained_elsewhere(sidecar, watch):
    told = sidecar.client().start_session(project_name="shop")
    told.complete(SessionOutcome.FAILURE)
    seen = watch(told.id, "--json")
    code, said = seen.ended()
    assert code == 1
    assert "seamark explain" in said
    assert json.loads(seen.lines[0])["error"]["reason"] == "SESSION_CLOSED"


def test_one_that_nobody_knows_is_not_waited_for(watch):
    code, said = watch("nobody", "--json").ended()
    assert code == 1
    assert "no session begins with" in said


def test_a_session_of_an_earlier_sidecar_is_restored(sidecar, watch):
    client = sidecar.client()
    told = client.start_session(project_name="shop")
    report(told)
    assert client.flush(PATIENCE)
    sidecar.kill()
    sidecar.start()
    seen = watch(told.id, "--json")
    wait_until(lambda: len(seen.saw("call")) == 12)


def test_a_sidecar_that_goes_away_is_said(sidecar, watch):
    sidecar.client().start_session(project_name="shop")
    seen = watch("--json")
    wait_until(lambda: seen.saw("session"))
    sidecar.kill()
    code, said = seen.ended()
    assert code == 1
    assert "no sidecar answers" in said


def test_an_interrupt_is_the_way_out(sidecar, watch):
    sidecar.client().start_session(project_name="shop")
    seen = watch("--json")
    wait_until(lambda: seen.saw("session"))
    seen.process.send_signal(signal.SIGINT)
    assert seen.ended() == (0, "")


def test_without_json_a_pipe_gets_plain_lines(sidecar, watch):
    told = sidecar.client().start_session(project_name="shop \x1b[2J")
    report(told)
    seen = watch()
    wait_until(lambda: any(line.startswith("candidate") for line in list(seen.lines)))
    told.complete(SessionOutcome.FAILURE)
    assert seen.ended()[0] == 0
    text = "".join(seen.lines)
    assert "\x1b" not in text
    assert "call  step" in text


def test_on_a_terminal_there_is_a_view_that_moves(sidecar, watch):
    client = sidecar.client()
    told = client.start_session(project_name="shop", task="\x1b[2J\x07Fix it")
    report(told)
    assert client.flush(PATIENCE)
    reader, writer = os.openpty()
    seen = watch(stdout=writer)
    os.close(writer)
    text = b""

    def shows_all():
        nonlocal text
        text += os.read(reader, 65536)
        return b"Candidates" in text

    wait_until(shows_all)
    told.complete(SessionOutcome.FAILURE)
    wait_until(lambda: seen.process.poll() is not None)
    text += os.read(reader, 65536)
    os.close(reader)
    assert seen.process.returncode == 0
    for word in (b"Calls", b"Signals", b"Session "):
        assert word in text
    assert b"\x1b[2J" not in text
    assert b"\x07" not in text
