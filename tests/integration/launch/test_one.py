"""However many agents start at once, they share one sidecar."""

import threading

import pytest

from seamark import UserSaid
from tests.integration.launch.conftest import until

# Waits for the word, so that the imports of the others are over too.
TOGETHER = """
client = connect()
print("ready", flush=True)
sys.stdin.readline()
session = client.start_session(project_path=os.getcwd())
for number in range(10):
    session.observe(UserSaid(text=str(number)))
assert client.flush(30), client.why_without_memory
print(client.dropped, session.is_established)
"""


def all_at_once(place, count):
    agents = [place.begin(TOGETHER) for _ in range(count)]
    for agent in agents:
        assert agent.stdout.readline() == "ready\n", agent.stderr.read()
    for agent in agents:
        agent.stdin.write("go\n")
        agent.stdin.flush()
    for agent in agents:
        out, err = agent.communicate(timeout=60)
        assert out == "0 True\n", err
        assert "WARNING" not in err
    assert len(place.sidecars()) == 1
    assert place.starts() == 1
    # Not even one that gave way to another.
    assert "already runs" not in place.log.read_text()
    assert len(place.stored()) == 10 * count


def test_twenty_agents_at_once_have_one_sidecar(place):
    all_at_once(place, 20)


@pytest.mark.slow
def test_fifty_agents_at_once_have_one_sidecar(place):
    all_at_once(place, 50)


def test_clients_of_one_process_have_one_sidecar(here, connect):
    clients = [connect() for _ in range(8)]
    begin = threading.Barrier(len(clients))
    sessions = []

    def start(client):
        begin.wait()
        sessions.append(client.start_session(project_path=str(here.project)))
        sessions[-1].observe(UserSaid(text="hi"))

    threads = [threading.Thread(target=start, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        assert client.flush(20)
    assert here.starts() == 1
    assert len(here.stored()) == len(clients)


def test_an_agent_and_a_person_who_start_one_together_share_it(place):
    for attempt in range(3):
        person = place.begin(
            "from seamark_sidecar.cli import main; main()", "up", "--detach", "--json"
        )
        agent = place.begin(TOGETHER)
        assert agent.stdout.readline() == "ready\n"
        out, err = agent.communicate("go\n", timeout=60)
        assert out == "0 True\n", err
        assert "WARNING" not in err
        _, complaint = person.communicate(timeout=60)
        assert person.returncode == 0, complaint
        until(lambda: len(place.sidecars()) == 1)  # Whoever came second is on its way out.
        assert len(place.stored()) == 10 * (attempt + 1)
        place.running().terminate()
        until(lambda: not place.family())
