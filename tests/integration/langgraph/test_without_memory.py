"""Whatever is wrong with the sidecar or with us, the agent runs as it would without us."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from seamark import Client, Session, Settings
from seamark_langgraph import SeamarkMiddleware
from tests.integration.langgraph.conftest import PATIENT
from tests.integration.langgraph.scripted import ASKED, THREAD, ScriptedModel, calls, gist, play

# Streams go through the same hooks; that is tested where memory is there.
WAYS = ("invoke", "ainvoke")
SCRIPT = [
    calls(("read_file", "c1", {"path": "a"}), ("read_file", "c2", {"path": "b"}), text="reading"),
    calls(("read_file", "c3", {"path": "c"})),
    AIMessage("done"),
]
SHORT: Any = {
    "session_start_deadline": 0.1,
    "tool_result_deadline": 0.05,
    "step_deadline": 0.05,
    "close_deadline": 0.2,
}


async def plain_run(way: str, tools: Any) -> Any:
    model = ScriptedModel(script=SCRIPT)
    ended = await play(create_agent(model, tools, system_prompt="BASE"), way, ASKED)
    return model, ended


async def run_with(middleware: SeamarkMiddleware, way: str, tools: Any) -> Any:
    model = ScriptedModel(script=SCRIPT)
    agent = create_agent(model, tools, system_prompt="BASE", middleware=[middleware])
    began = time.monotonic()
    ended = await play(agent, way, ASKED)
    return model, ended, time.monotonic() - began


async def assert_runs_as_without(
    middleware: SeamarkMiddleware, way: str, tools: Any, *, within: float
) -> None:
    """Same answers out, same messages in, and no longer than the deadlines allow."""
    plain_model, plain = await plain_run(way, tools)
    model, ended, took = await run_with(middleware, way, tools)
    assert gist(ended) == gist(plain)
    assert [gist(received) for received in model.seen] == [
        gist(received) for received in plain_model.seen
    ]
    assert took < within


def state_of(agent: Any) -> dict[str, Any]:
    return dict(agent.get_state(THREAD).values)


@pytest.fixture
def hung_socket(tmp_path_factory):
    """Accepts connections, and never says a word."""
    directory = tmp_path_factory.mktemp("hung")
    directory.chmod(stat.S_IRWXU)
    path = directory / "s.sock"
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o077)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(16)
    yield path
    listener.close()


@pytest.mark.parametrize("way", WAYS)
async def test_no_sidecar_at_all(way, tools, tmp_path, caplog):
    client = Client(Settings(address=f"unix:{tmp_path}/nobody.sock", **SHORT))
    await assert_runs_as_without(SeamarkMiddleware(client=client), way, tools, within=2)
    warnings = [each for each in caplog.records if each.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "runs without memory" in warnings[0].message
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_accepts_and_never_answers(way, tools, hung_socket):
    client = Client(Settings(address=f"unix:{hung_socket}", **SHORT))
    await assert_runs_as_without(SeamarkMiddleware(client=client), way, tools, within=2)
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_is_too_slow(way, tools, sidecar):
    sidecar.delay = 0.4
    client = sidecar.client(**SHORT)
    await assert_runs_as_without(SeamarkMiddleware(client=client), way, tools, within=2)
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_becomes_slow_in_the_middle(way, tools, sidecar):
    client = sidecar.client(**{**SHORT, "session_start_deadline": 5.0})
    middleware = SeamarkMiddleware(client=client)
    sidecar.system = sidecar.first_message = ""

    class SlowFromNow(ScriptedModel):
        def _line(self, messages, tool_names):
            sidecar.delay = 0.4
            return super()._line(messages, tool_names)

    _, plain = await plain_run(way, tools)
    agent = create_agent(
        SlowFromNow(script=SCRIPT), tools, system_prompt="BASE", middleware=[middleware]
    )
    began = time.monotonic()
    ended = await play(agent, way, ASKED)
    assert time.monotonic() - began < 3
    assert gist(ended) == gist(plain)
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_answers_garbage(way, tools, sidecar):
    sidecar.garbage = True
    client = sidecar.client(**SHORT)
    await assert_runs_as_without(SeamarkMiddleware(client=client), way, tools, within=2)
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_refuses(way, tools, sidecar):
    sidecar.refusal = "WIRE_TOO_OLD"
    client = sidecar.client(**SHORT)
    await assert_runs_as_without(SeamarkMiddleware(client=client), way, tools, within=2)
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sidecar_that_dies_in_the_middle(way, tools, sidecar):
    client = sidecar.client(**{**SHORT, "session_start_deadline": 5.0})
    sidecar.system = sidecar.first_message = sidecar.step = ""

    class Killer(ScriptedModel):
        def _line(self, messages, tool_names):
            sidecar.stop()
            return super()._line(messages, tool_names)

    agent = create_agent(
        Killer(script=SCRIPT), tools, middleware=[SeamarkMiddleware(client=client)]
    )
    began = time.monotonic()
    ended = await play(agent, way, ASKED)
    assert time.monotonic() - began < 3
    assert ended[-1].content == "done"
    assert [message.content for message in ended][2:4] == ["contents of a", "contents of b"]
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_complete_comes_back_in_time_for_many_runs_without_a_sidecar(way, tools, hung_socket):
    client = Client(Settings(address=f"unix:{hung_socket}", **{**SHORT, "close_deadline": 0.1}))
    middleware = SeamarkMiddleware(client=client)
    agent = create_agent(ScriptedModel(script=[AIMessage("ok")]), tools, middleware=[middleware])
    for _ in range(8):
        await play(agent, way, ASKED)
    began = time.monotonic()
    if way.startswith("a"):
        await middleware.acomplete(validated=True)
    else:
        middleware.complete(validated=True)
    assert time.monotonic() - began < 0.6
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_switched_off_the_model_gets_exactly_what_it_would_without_us(
    way, tools, sidecar, monkeypatch
):
    monkeypatch.setenv("SEAMARK_DISABLED", "1")
    monkeypatch.setenv("SEAMARK_ADDRESS", sidecar.address)
    plain_model, _ = await plain_run(way, tools)
    model, _, took = await run_with(SeamarkMiddleware(), way, tools)
    assert [gist(received) for received in model.seen] == [
        gist(received) for received in plain_model.seen
    ]
    assert model.offered == plain_model.offered
    assert took < 1
    assert not sidecar.requests("StartSession")


def test_a_thread_begun_with_memory_goes_on_without_it_when_switched_off(client, sidecar, tools):
    saver = InMemorySaver()
    first = ScriptedModel(script=[calls(("explode", "c1", {"why": "luck"}))])
    agent: Any = create_agent(
        first, tools, middleware=[SeamarkMiddleware(client=client)], checkpointer=saver
    )
    with pytest.raises(ValueError, match="bad luck"):
        agent.invoke(ASKED, THREAD)
    off = Client(sidecar.settings(disabled=True))
    second = ScriptedModel(script=[AIMessage("-"), AIMessage("ok")])
    agent = create_agent(second, [], middleware=[SeamarkMiddleware(client=off)], checkpointer=saver)
    agent.invoke({"messages": [ToolMessage("gave up", tool_call_id="c1")]}, THREAD)
    assert [message.content for message in second.seen[0]] == ["fix the bug", "", "gave up"]
    assert not any(key.startswith("seamark_") and text for key, text in state_of(agent).items())


async def test_a_slow_sidecar_never_holds_up_the_event_loop(sidecar, tools):
    client = sidecar.client(close_deadline=10.0, **PATIENT)
    script = [
        calls(("read_file", "c1", {"path": "a"}), ("search_memory", "c2", {"query": "x"})),
        calls(("record_memory", "c3", {"type": "gotcha", "content": "y"})),
        AIMessage("done"),
    ]
    middleware = SeamarkMiddleware(client=client)
    agent = create_agent(ScriptedModel(script=script), tools, middleware=[middleware])
    await agent.ainvoke(ASKED)  # So that what is loaded at first use is loaded.
    sidecar.delay = 0.25
    running = asyncio.ensure_future(agent.ainvoke(ASKED))
    longest, last = 0.0, time.monotonic()
    while not running.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    await middleware.acomplete(validated=True)
    assert running.result()["messages"][-1].content == "done"
    assert longest < 0.2
    client.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_wrong_setting_costs_the_memory_and_not_the_agent(way, tools, monkeypatch, caplog):
    monkeypatch.setenv("SEAMARK_STEP_MS", "soon")
    await assert_runs_as_without(SeamarkMiddleware(), way, tools, within=1)
    assert "SEAMARK_STEP_MS" in caplog.text


class BrokenSession(Session):
    """A session with every promise of the SDK broken."""

    def observe(self, body):
        raise RuntimeError("observe is broken")

    def prepare_step(self, step):
        raise RuntimeError("prepare_step is broken")

    async def aprepare_step(self, step):
        raise RuntimeError("aprepare_step is broken")

    def augment_tool_result(self, call_id):
        raise RuntimeError("augment_tool_result is broken")

    async def aaugment_tool_result(self, call_id):
        raise RuntimeError("aaugment_tool_result is broken")

    def complete(self, *args, **kwargs):
        raise RuntimeError("complete is broken")

    async def acomplete(self, *args, **kwargs):
        raise RuntimeError("acomplete is broken")


@pytest.mark.parametrize("way", WAYS)
async def test_faults_of_our_own_are_told_once_and_cost_the_agent_nothing(
    way, tools, client, sidecar, caplog
):
    sidecar.system = sidecar.first_message = ""

    class BrokenClient(Client):
        def start_session(self, **opening):
            session = super().start_session(**opening)
            session.__class__ = BrokenSession
            return session

        async def astart_session(self, **opening):
            session = await super().astart_session(**opening)
            session.__class__ = BrokenSession
            return session

    broken = BrokenClient(client.settings)
    middleware = SeamarkMiddleware(client=broken)
    await assert_runs_as_without(middleware, way, tools, within=2)
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert sorted(told) == [
        "could not augment a tool result; the agent goes on without it",
        "could not end a session; the agent goes on without it",
        "could not prepare a step; the agent goes on without it",
        "could not read what the model said; the agent goes on without it",
        "could not report a model call; the agent goes on without it",
        "could not report what the agent did; the agent goes on without it",
    ]
    broken.close(timeout=0)


@pytest.mark.parametrize("way", WAYS)
async def test_a_session_that_cannot_start_costs_the_agent_nothing(way, tools, client):
    class NoClient(Client):
        def start_session(self, **opening):
            raise OSError("no")

        async def astart_session(self, **opening):
            raise OSError("no")

    middleware = SeamarkMiddleware(client=NoClient(client.settings))
    await assert_runs_as_without(middleware, way, tools, within=1)


@pytest.mark.parametrize("forged", ["", "no ticket", "e30=", "\x00", "é"])
def test_a_forged_ticket_in_the_state_costs_the_agent_nothing(forged, client, tools):
    class Forger(SeamarkMiddleware):
        def before_agent(self, state, runtime):
            return {"seamark_ticket": forged, "seamark_system": ""}

    agent = create_agent(
        ScriptedModel(script=SCRIPT), tools, middleware=[Forger(client=client, inject=False)]
    )
    assert agent.invoke(ASKED)["messages"][-1].content == "done"


@pytest.mark.parametrize("missing", ["langchain", "langgraph", "langchain_core"])
def test_without_the_framework_the_import_says_what_to_install(missing):
    program = (
        "import sys\n"
        f"sys.modules[{missing!r}] = None\n"
        "try:\n"
        "    import seamark_langgraph\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'seamark[langgraph]'" in ran.stdout


def test_another_missing_module_is_named_as_it_is(tmp_path: Path):
    program = (
        "import sys\n"
        "sys.modules['grpc'] = None\n"
        "try:\n"
        "    import seamark_langgraph\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "grpc" in ran.stdout
    assert "pip install" not in ran.stdout
