"""A sidecar that dies is started again, and what was reported meanwhile arrives."""

import logging
import multiprocessing
import os
import signal
import time
from functools import partial

import pytest

from seamark import UserSaid
from tests.integration.launch.conftest import PAUSE, until


def said(number):
    return UserSaid(text=str(number))


def contains(caplog, text):
    return text in caplog.text


def test_a_sidecar_that_was_killed_is_started_again_by_the_sender(here, connect, caplog):
    caplog.set_level(logging.INFO, "seamark")
    client = connect()
    session = client.start_session(project_path=str(here.project))
    for number in range(200):
        if number in (50, 120):
            assert client.flush(20)
            pid = here.running().pid
            started = f"started the sidecar, pid {pid}"
            until(partial(contains, caplog, started))
            os.kill(pid, signal.SIGKILL)
        session.observe(said(number))
    assert client.flush(30)
    assert here.stored() == [(session.producer_id, number + 1) for number in range(200)]
    assert here.starts() == 3
    assert client.dropped == client.rejected == 0
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert session.prepare_step(1) is not None
    assert client.why_without_memory == ""


def test_a_sidecar_that_ended_while_the_agent_was_thinking_is_started_again(here, connect):
    client = connect(idle_exit=0.5)
    session = client.start_session(project_path=str(here.project))
    session.observe(said(1))
    assert client.flush(20)
    until(lambda: not here.family())
    session.observe(said(2))
    assert client.flush(20)
    assert [sequence for _, sequence in here.stored()] == [1, 2]
    assert here.starts() == 2


def test_steps_are_not_delayed_while_it_is_started_again(here, connect):
    client = connect(step_deadline=0.05)
    session = client.start_session(project_path=str(here.project))
    until(lambda: session.is_established)
    here.running().kill()
    slowest = 0.0
    began = time.monotonic()
    step = 0
    while here.starts() < 2 or client.why_without_memory:
        session.observe(said(step))
        before = time.monotonic()
        session.prepare_step(step)
        slowest = max(slowest, time.monotonic() - before)
        step += 1
        time.sleep(0.01)
        assert time.monotonic() - began < 20
    # The deadline, and what a busy machine adds to it.
    assert slowest < 0.05 + 0.45


def test_one_that_does_not_start_is_a_single_warning_with_its_last_words(here, connect, caplog):
    python = here.python_saying("echo 'seamark: the moon is wrong'; exit 1")
    client = connect(sidecar_python=python, data_dir=here.data)
    session = client.start_session(project_path=str(here.project))
    session.observe(said(1))
    until(lambda: client.why_without_memory.endswith("the moon is wrong"))
    began = time.monotonic()
    while time.monotonic() - began < 5 * PAUSE:
        session.prepare_step(1)
        session.search("q")
        time.sleep(0.02)
    assert client.why_without_memory == "the sidecar did not start: the moon is wrong"
    (warning,) = [record for record in caplog.records if record.levelno > logging.INFO]
    assert warning.getMessage() == f"seamark runs without memory: {client.why_without_memory}"
    # At once, after one pause, and after two more.
    assert 2 <= here.log.read_text().count("moon") <= 3


def test_after_a_failure_it_is_tried_again_and_what_was_reported_arrives(here, connect):
    client = connect(sidecar_python=here.python_saying("exit 1"))
    session = client.start_session(project_path=str(here.project))
    session.observe(said(1))
    until(lambda: "did not start" in client.why_without_memory)
    here.python_saying(f'exec {here.python} "$@"')
    assert client.flush(20)
    assert client.why_without_memory == ""
    assert len(here.stored()) == 1


def test_one_that_keeps_ending_is_a_single_warning(here, connect, caplog):
    socket = here.data / "seamark.sock"
    script = f"""rm -f {socket}
{here.python} "$@" &
while ! [ -S {socket} ]; do sleep 0.05; done
sleep 0.3
kill -9 $!
wait
exit 7"""
    client = connect(sidecar_python=here.python_saying(script))
    session = client.start_session(project_path=str(here.project))
    until(lambda: session.observe(said(1)) or "keeps ending" in caplog.text)
    assert "the sidecar keeps ending: it ended with code 7, see " in caplog.text
    assert caplog.text.count("seamark runs without memory") == 1


def test_a_forked_child_starts_one_itself(place):
    program = """
client = connect()
session = client.start_session(project_path=os.getcwd())
until(lambda: session.is_established)
holder = int(__import__("json").load(open(f"{sys.argv[1]}/sidecar.lock"))["pid"])
child = os.fork()
if not child:
    os.kill(holder, 9)
    session.observe(UserSaid(text="from the child"))
    assert client.flush(20), client.why_without_memory
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
session.observe(UserSaid(text="from the parent"))
assert client.flush(20), client.why_without_memory
"""
    place.agent(program, str(place.data), PYTHONWARNINGS="error")
    assert len({producer for producer, _ in place.stored()}) == 2
    assert place.starts() == 2


def test_a_child_forked_during_the_start_holds_nothing_back(place):
    program = """
from seamark import launch
client = connect()
client.start_session(project_path=os.getcwd())
children = []
while not os.path.exists(sys.argv[1]):
    child = os.fork()
    if not child:
        time.sleep(30)
        os._exit(0)
    children.append(child)
    time.sleep(0.01)
assert children
session = client.start_session(project_path=os.getcwd())
session.observe(UserSaid(text="1"))
assert client.flush(20)
os.kill(__import__("json").load(open(sys.argv[2]))["pid"], 9)
session.observe(UserSaid(text="2"))
assert client.flush(20), client.why_without_memory
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
"""
    place.agent(program, f"{place.data}/seamark.sock", f"{place.data}/sidecar.lock")
    assert len(place.stored()) == 2
    assert place.starts() == 2


def _report(number):
    import seamark

    client = seamark.connect()
    session = client.start_session(project_path="/")
    session.observe(said(number))
    return client.flush(20)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing_share_one(here, method):
    with multiprocessing.get_context(method).Pool(3) as pool:
        assert pool.map(_report, range(6)) == [True] * 6
    assert here.starts() == 1
    assert len(here.stored()) == 6


def test_an_agent_that_is_killed_while_it_starts_one_leaves_no_mess(place):
    program = """
client = connect()
client.start_session(project_path=os.getcwd()).observe(UserSaid(text="hi"))
print("begun", flush=True)
time.sleep(30)
"""
    for pause in (0.0, 0.02, 0.1):
        agent = place.begin(program)
        assert agent.stdout.readline() == "begun\n"
        time.sleep(pause)
        os.kill(agent.pid, signal.SIGKILL)
        agent.wait()
    agent = place.begin(program.replace("time.sleep(30)", "assert client.flush(20)"))
    agent.communicate(timeout=30)
    assert agent.returncode == 0
    until(lambda: len(place.sidecars()) == 1)  # Whoever came second is on its way out.
