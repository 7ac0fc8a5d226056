"""A sidecar is there when an agent needs one, and the agent never waits for it."""

import asyncio
import logging
import time
from typing import Any

import psutil
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

import seamark
from seamark import Client, SessionState, Settings, UserSaid
from seamark.client import BEING_STARTED
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.scripted import ScriptedModel
from tests.integration.launch.conftest import until

# An agent that reports, and leaves when all of it is stored.
REPORTS = """
client = connect()
session = client.start_session(project_path=os.getcwd())
for number in range(50):
    session.observe(UserSaid(text=str(number)))
assert client.flush(20)
print(client.dropped, client.rejected, session.is_established)
"""


def test_an_agent_that_finds_no_sidecar_starts_one(place):
    assert place.agent(REPORTS).split() == ["0", "0", "True"]
    assert [sequence for _, sequence in place.stored()] == list(range(1, 51))
    holder = place.holder()
    assert (holder.address, holder.version) == (place.address, seamark.__version__)
    assert holder.launched


def test_the_next_agent_finds_it(place):
    place.agent(REPORTS)
    first = place.holder()
    place.agent(REPORTS)
    assert place.holder() == first
    assert place.starts() == 1
    assert len(place.stored()) == 100


def test_a_sidecar_that_a_person_started_is_used(place, here):
    process = place.begin("from seamark_sidecar.cli import main; main()", "up")
    until(place.running)
    until(lambda: place.starts() == 0 and place.data.joinpath("seamark.sock").exists())
    client = seamark.connect()
    session = client.start_session()
    assert session.is_established
    client.close()
    assert place.holder().pid == process.pid
    assert not place.holder().launched
    assert not place.data.joinpath("launch.lock").exists()


def test_the_first_step_of_an_agent_is_not_delayed(connect, here):
    client = connect(session_start_deadline=0.5, step_deadline=0.05)
    began = time.monotonic()
    session = client.start_session(project_path=str(here.project))
    shown = session.prepare_step(1)
    session.observe(UserSaid(text="hi"))
    assert time.monotonic() - began < 0.5
    assert shown.text == ""
    assert client.why_without_memory == BEING_STARTED
    until(lambda: session.is_established)
    session.prepare_step(2)
    assert client.why_without_memory == ""


async def test_an_event_loop_is_not_delayed_either(connect, here):
    client = connect()
    began = time.monotonic()
    session = await client.astart_session(project_path=str(here.project))
    await session.aprepare_step(1)
    assert time.monotonic() - began < 0.5
    await asyncio.to_thread(until, lambda: session.is_established)


def test_a_session_that_reports_nothing_is_made_known_all_the_same(connect, here):
    client = connect()
    sessions = [client.start_session(project_path=str(here.project)) for _ in range(3)]
    until(lambda: all(session.is_established for session in sessions))
    assert client.flush(5)


def test_a_start_that_goes_well_is_no_warning(connect, here, caplog):
    caplog.set_level(logging.INFO, "seamark")
    client = connect()
    session = client.start_session(project_path=str(here.project))
    session.search("anything")
    session.observe(UserSaid(text="hi"))
    assert client.flush(20)
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert f"started the sidecar, pid {here.holder().pid}" in caplog.text


def test_one_line_is_all_that_a_langgraph_agent_needs(here, caplog):
    memory = SeamarkMiddleware()
    agent = create_agent(ScriptedModel(script=[AIMessage("done")]), [], middleware=[memory])
    asked: Any = {"messages": "fix the bug"}
    assert agent.invoke(asked)["messages"][-1].text == "done"
    assert memory.complete(validated=True).state is SessionState.CLOSED
    assert here.holder().launched
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_an_end_that_comes_before_the_sidecar_is_delivered(connect, here):
    client = connect(close_deadline=20)
    session = client.start_session(project_path=str(here.project))
    session.observe(UserSaid(text="hi"))
    assert session.complete(validated=True).state is SessionState.CLOSED


def test_what_an_agent_reports_while_it_leaves_arrives(place):
    program = """
session = Client().start_session(project_path=os.getcwd())
for number in range(50):
    session.observe(UserSaid(text=str(number)))
"""
    place.agent(program)
    assert len(place.stored()) == 50


def test_an_agent_that_has_nothing_to_say_is_not_kept_from_leaving(place):
    program = """
begin = time.monotonic()
Client().start_session(project_path=os.getcwd())
print(time.monotonic() - begin)
"""
    began = time.monotonic()
    hanging = place.python_saying("exec sleep 60")
    assert float(place.agent(program, SEAMARK_SIDECAR_PYTHON=hanging)) < 0.5
    assert time.monotonic() - began < 20


NEVER = {
    "the address in the environment": {"SEAMARK_ADDRESS": "unix:{data}/seamark.sock"},
    "switched off": {"SEAMARK_AUTOSTART": "0"},
    "disabled": {"SEAMARK_DISABLED": "1"},
}


@pytest.mark.parametrize("why", NEVER)
def test_none_is_started_when_an_address_is_set_or_it_is_switched_off(place, why):
    changes = {name: value.format(data=place.data) for name, value in NEVER[why].items()}
    program = """
for client in (connect(), Client()):
    session = client.start_session(project_path=os.getcwd())
    session.observe(UserSaid(text="hi"))
    session.prepare_step(1)
    client.flush(0.3)
    print(client._launcher, client.why_without_memory)
"""
    out, err = place.ended(program, **changes, SEAMARK_CLOSE_MS="100")
    assert "BEING_STARTED" not in out
    assert not place.data.exists()
    assert place.family() == []
    assert err.count("no sidecar listens") == (0 if why == "disabled" else 2)


def test_none_is_started_for_an_address_in_code(here, connect):
    clients = [connect(address=here.address), Client(Settings(address=here.address))]
    for client in clients:
        session = client.start_session(project_path=str(here.project))
        session.observe(UserSaid(text="hi"))
        assert not client.flush(0.3)
        assert "start it: seamark up" in client.why_without_memory
        client.close(0)
    assert not here.data.exists()


def test_a_data_directory_named_in_code_has_a_sidecar_of_its_own(here, connect):
    client = connect(data_dir=here.root / "other")
    session = client.start_session(project_path=str(here.project))
    until(lambda: session.is_established)
    assert (here.root / "other" / "memory.db").exists()
    assert not here.data.exists()


@pytest.mark.parametrize("changes", [{"address": "localhost:1"}, {"data_dir": "~nobody-here/x"}])
def test_a_wrong_setting_in_code_is_a_warning_and_no_memory(connect, caplog, changes):
    client = connect(**changes)
    assert client.disabled
    assert "seamark runs without memory" in caplog.text


def test_a_setting_that_does_not_exist_is_an_error(here):
    with pytest.raises(TypeError, match="speed"):
        seamark.connect(speed=3)


def test_relative_places_mean_those_of_the_agent(place):
    place.agent(REPORTS, SEAMARK_DATA_DIR="d", options={"cwd": place.root})
    assert len(place.stored()) == 50
    assert place.running().environ()["SEAMARK_DATA_DIR"] == str(place.data)


def test_it_listens_in_the_runtime_directory_where_there_is_one(place):
    runtime = place.root / "run"
    runtime.mkdir(mode=0o700)
    place.agent(REPORTS, XDG_RUNTIME_DIR=str(runtime))
    (socket,) = (runtime / "seamark").iterdir()
    assert place.holder().address == f"unix:{socket}"
    assert socket.parent.stat().st_mode & 0o777 == 0o700


def test_the_sidecar_stays_when_the_agent_leaves_then_leaves_itself(place):
    began = time.monotonic()
    place.agent(REPORTS, SEAMARK_IDLE_EXIT_S="1")
    process = place.running()
    assert process.is_running()
    until(lambda: not place.family(), within=10)
    assert time.monotonic() - began > 1
    assert place.holder() is None
    assert not place.data.joinpath("seamark.sock").exists()
    (line,) = place.logged("idle")
    assert line["seconds"] == 1
    assert place.logged("stopped")


def test_a_sidecar_that_ended_is_no_zombie_of_its_agent(place):
    program = """
client = connect()
session = client.start_session(project_path=os.getcwd())
until(lambda: session.is_established)
print(open(f"{sys.argv[1]}/sidecar.lock").read(), flush=True)
sys.stdin.read()
"""
    agent = place.begin(program, str(place.data))
    assert '"launched": true' in agent.stdout.readline()
    place.running().terminate()
    until(lambda: place.holder() is None)
    until(lambda: psutil.Process(agent.pid).children() == [])
    _, err = agent.communicate(timeout=20)
    assert agent.returncode == 0
    assert "WARNING" not in err


def test_an_agent_leaves_in_silence_while_its_sidecar_goes_on(place):
    _, err = place.ended(REPORTS, PYTHONDEVMODE="1", PYTHONWARNINGS="error")
    assert [line for line in err.splitlines() if not line.startswith("INFO seamark ")] == []
    assert place.holder() is not None
