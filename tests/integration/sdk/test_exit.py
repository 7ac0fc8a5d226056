"""A process leaves soon after its last line, whatever its sidecar does, and loses nothing."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from seamark import UserSaid
from tests.integration.sdk.conftest import PREAMBLE

SERVER = """
from seamark.testing import RecordingSidecar
with RecordingSidecar() as sidecar:
    print(sidecar.address, flush=True)
    sys.stdin.read()
"""

# Says when it has reached its last line; the clock is the same for all processes.
LAST_LINE = """
print("last line", time.monotonic(), flush=True)
"""

AGENT = """
import logging
logging.basicConfig()
clients = [Client() for _ in range(int(sys.argv[1]))]
sessions = [client.start_session() for client in clients]
print("ready", flush=True)
sys.stdin.readline()
for session in sessions:
    session.observe(UserSaid(text="early"))
    session.prepare_step(1)
    session.observe(UserSaid(text="last words"))
"""


class Agent:
    """A process of an agent that stops before its last words until it is told to go on."""

    def __init__(self, address, program=AGENT, clients=1):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + program + LAST_LINE, str(clients)],
            env={**os.environ, "SEAMARK_ADDRESS": address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_ready(self):
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()

    def leaves_in(self):
        """How long it takes from the last line to the end."""
        out, err = self.process.communicate("go on\n", timeout=30)
        ended = time.monotonic()
        assert self.process.returncode == 0, err
        assert "Traceback" not in err
        assert "Fatal" not in err
        assert err.count("seamark runs without memory") <= err.count("WARNING")
        self.told = err
        return ended - float(out.split()[-1])


@pytest.fixture
def server():
    # A sidecar that is killed leaves its directory behind.
    scratch = tempfile.mkdtemp(prefix="sm-")
    process = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + SERVER],
        env={**os.environ, "TMPDIR": scratch},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    yield process, address
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=10)
    shutil.rmtree(scratch)


def test_what_was_observed_just_before_the_end_arrives(sidecar):
    agent = Agent(sidecar.address)
    agent.until_ready()
    assert agent.leaves_in() < 1.0
    assert sidecar.bodies() == [UserSaid(text="early"), UserSaid(text="last words")]


def test_so_does_what_was_observed_by_many_clients(sidecar):
    agent = Agent(sidecar.address, clients=8)
    agent.until_ready()
    assert agent.leaves_in() < 1.5
    assert len(sidecar.bodies()) == 16


def test_without_a_sidecar_it_leaves_in_time(tmp_path):
    agent = Agent(f"unix:{tmp_path}/s.sock")
    agent.until_ready()
    assert agent.leaves_in() < 1.5
    assert agent.told.count("seamark runs without memory") == 1


@pytest.mark.parametrize("clients", [1, 8])
def test_with_a_frozen_sidecar_it_leaves_in_time(server, clients):
    process, address = server
    agent = Agent(address, clients=clients)
    agent.until_ready()
    process.send_signal(signal.SIGSTOP)
    assert agent.leaves_in() < 1.5
    assert agent.told.count("seamark runs without memory") <= 2 * clients


def test_with_a_sidecar_that_was_frozen_all_the_time_it_leaves_in_time(server):
    process, address = server
    process.send_signal(signal.SIGSTOP)
    agent = Agent(address)
    agent.until_ready()
    assert agent.leaves_in() < 1.5


def test_with_a_sidecar_that_died_it_leaves_in_time(server):
    process, address = server
    agent = Agent(address)
    agent.until_ready()
    process.kill()
    assert agent.leaves_in() < 1.5


ASYNC = """
import asyncio
client = Client()
async def agent():
    session = await client.astart_session()
    await session.aprepare_step(1)
    session.observe(UserSaid(text="last words"))
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(agent())
"""

CLOSED = """
client = Client()
session = client.start_session()
print("ready", flush=True)
sys.stdin.readline()
session.observe(UserSaid(text="last words"))
client.close()
client.close()
"""

LATE = """
import atexit
client = Client()
session = client.start_session()
atexit.register(lambda: session.observe(UserSaid(text="last words")))
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("program", [ASYNC, CLOSED, LATE], ids=["async", "closed", "at exit"])
def test_every_way_to_leave_delivers_the_last_words(sidecar, program):
    agent = Agent(sidecar.address, program)
    agent.until_ready()
    assert agent.leaves_in() < 1.0
    assert sidecar.bodies() == [UserSaid(text="last words")]


def test_an_agent_that_fails_delivers_its_last_words_and_fails(sidecar, agent):
    done = agent(
        """
session = Client().start_session()
session.observe(UserSaid(text="last words"))
raise RuntimeError("the agent's own")
"""
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert "the agent's own" in done.stderr
    assert sidecar.bodies() == [UserSaid(text="last words")]
