"""A forked child reports under a name of its own and leaves its parent's events alone."""

from collections import Counter

import pytest

from seamark import UserSaid

# What gRPC knows of forks is decided by its environment, and the SDK must live with all of it.
SUPPORT = pytest.mark.parametrize("support", ["", "1"])

ROUNDS = 5


def texts(sidecar):
    """How often each text was stored, under whatever name."""
    return Counter(body.text for body in sidecar.bodies() if isinstance(body, UserSaid))


def once(*expected):
    return Counter(expected)


def producers(sidecar):
    return {
        batch.producer_id for request in sidecar.requests("Ingest") for batch in request.batches
    }


def environ(support):
    return {"GRPC_ENABLE_FORK_SUPPORT": support} if support else {}


FORKS = """
client = Client()
session = client.start_session()
for number in range(5):
    session.observe(UserSaid(text=f"before {number}"))
    pid = os.fork()
    if pid == 0:
        session.observe(UserSaid(text=f"child {number}"))
        answered = session.prepare_step(1).text == "[step]"
        flushed = client.flush(10)
        os._exit(0 if answered and flushed and client.dropped == 0 else 3)
    session.observe(UserSaid(text=f"after {number}"))
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
assert session.prepare_step(1).text == "[step]"
client.close(10)
assert client.dropped == 0
"""


@SUPPORT
def test_a_child_reports_and_asks_under_a_name_of_its_own(sidecar, agent, support):
    done = agent(FORKS, **environ(support))
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once(
        *(f"{when} {number}" for when in ("before", "child", "after") for number in range(ROUNDS))
    )
    assert len(producers(sidecar)) == 1 + ROUNDS
    assert len(sidecar.requests("StartSession")) == 1


BUSY = """
client = Client()
session = client.start_session()
stop = threading.Event()
observed = 0
def chatter():
    global observed
    while not stop.is_set():
        session.observe(UserSaid(text=f"parent {observed}"))
        observed += 1
        if observed % 50 == 0:
            session.prepare_step(observed)
            time.sleep(0.001)
thread = threading.Thread(target=chatter)
thread.start()
for number in range(5):
    time.sleep(0.03)
    pid = os.fork()
    if pid == 0:
        for each in range(10):
            session.observe(UserSaid(text=f"child {number} {each}"))
        os._exit(0 if client.flush(10) and client.dropped == 0 else 3)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
stop.set()
thread.join()
client.close(10)
print(observed, client.dropped)
"""


@SUPPORT
def test_a_fork_in_the_middle_of_deliveries_sends_nothing_twice(sidecar, agent, support):
    done = agent(BUSY, **environ(support), SEAMARK_BUFFER="1000000")
    assert done.returncode == 0, done.stderr
    observed, dropped = map(int, done.stdout.split())
    assert dropped == 0
    expected = [f"parent {number}" for number in range(observed)]
    expected += [f"child {number} {each}" for number in range(ROUNDS) for each in range(10)]
    assert texts(sidecar) == once(*expected)


SWITCHED_OFF = """
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        began = time.monotonic()
        session.observe(UserSaid(text="child"))
        other = client.start_session()
        quiet = not session.prepare_step(1) and not session.search("q").hits
        quiet = quiet and str(session.complete()) == "" and not other.start.system
        client.close()
        os._exit(0 if client.disabled and quiet and time.monotonic() - began < 0.5 else 3)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
assert not client.disabled
assert session.prepare_step(1).text == "[step]"
client.close(10)
"""


@pytest.mark.parametrize("support", ["0", "false"])
def test_where_calls_would_hang_the_child_is_switched_off(sidecar, agent, support):
    done = agent(SWITCHED_OFF, GRPC_ENABLE_FORK_SUPPORT=support)
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once("parent")
    assert sidecar.requests("CompleteSession") == []


LOCKED = """
import contextlib
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
held, done = threading.Event(), threading.Event()
def hold():
    locks = [client.outbox._moving, client.outbox._counting, client.link._lock]
    locks += [client._warning, session._breaker._lock]
    with contextlib.ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
        held.set()
        done.wait(10)
threading.Thread(target=hold).start()
held.wait()
pid = os.fork()
if pid == 0:
    session.observe(UserSaid(text="child"))
    answered = session.prepare_step(1).text == "[step]"
    client.without_memory(RuntimeError("for the log"))
    summary = session.complete()
    os._exit(0 if answered and summary.state is SessionState.PENDING and client.flush(10) else 3)
_, status = os.waitpid(pid, 0)
done.set()
assert status == 0, status
client.close(10)
"""


def test_a_child_does_not_wait_for_locks_that_other_threads_held(sidecar, agent):
    done = agent(LOCKED)
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once("parent", "child")


LEAVES = """
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
for number in range(5):
    pid = os.fork()
    if pid == 0:
        session.observe(UserSaid(text=f"child {number}"))
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


def test_a_child_that_just_leaves_delivers_what_it_reported(sidecar, agent):
    done = agent(LEAVES)
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once("parent", *(f"child {number}" for number in range(ROUNDS)))


POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
def work(number):
    text = session.prepare_step(1).text
    for each in range(400):
        session.observe(UserSaid(text=f"task {number} {each}"))
    return text, session.producer_id
fork = multiprocessing.get_context("fork")
for first in (0, 10):
    with ProcessPoolExecutor(2, mp_context=fork) as pool:
        for text, producer in pool.map(work, range(first, first + 10)):
            assert text == "[step]" and producer != session.producer_id
for number in range(20, 25):
    worker = fork.Process(target=work, args=[number])
    worker.start()
    worker.join()
client.close(10)
"""


@SUPPORT
def test_the_workers_of_a_pool_deliver_what_they_reported(sidecar, agent, support):
    done = agent(POOL, **environ(support))
    assert done.returncode == 0, done.stderr
    tasks = [f"task {number} {each}" for number in range(25) for each in range(400)]
    assert texts(sidecar) == once("parent", *tasks)
    assert 1 + 5 + 2 <= len(producers(sidecar)) <= 1 + 5 + 4


HUNG = """
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
asking = threading.Thread(target=session.search, args=["q"])
asking.start()
time.sleep(0.03)
slowest = 0.0
for number in range(2):
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        session.observe(UserSaid(text=f"child {number}"))
        os._exit(0 if client.flush(10) else 3)
    slowest = max(slowest, time.monotonic() - began)
    assert os.waitpid(pid, 0)[1] == 0
client.close(10)
print(slowest)
"""


@SUPPORT
def test_a_fork_does_not_wait_long_for_a_hung_sidecar(sidecar, agent, support):
    sidecar.delay = 0.4
    done = agent(HUNG, **environ(support))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.6
    assert texts(sidecar) == once("parent", "child 0", "child 1")


GRANDCHILD = """
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
pid = os.fork()
if pid == 0:
    session.observe(UserSaid(text="child"))
    second = os.fork()
    if second == 0:
        session.observe(UserSaid(text="grandchild"))
        os._exit(0 if client.flush(10) else 3)
    status = os.waitpid(second, 0)[1]
    os._exit(0 if client.flush(10) and status == 0 else 4)
assert os.waitpid(pid, 0)[1] == 0
client.close(10)
"""


def test_a_grandchild_reports_too(sidecar, agent):
    done = agent(GRANDCHILD)
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once("parent", "child", "grandchild")
    assert len(producers(sidecar)) == 3


CLOSED = """
client = Client()
session = client.start_session()
session.observe(UserSaid(text="parent"))
client.close(10)
pid = os.fork()
if pid == 0:
    session.observe(UserSaid(text="child"))
    os._exit(0 if not session.prepare_step(1) and client.dropped == 1 else 3)
assert os.waitpid(pid, 0)[1] == 0
"""


def test_a_client_that_was_closed_stays_closed_in_a_child(sidecar, agent):
    done = agent(CLOSED)
    assert done.returncode == 0, done.stderr
    assert texts(sidecar) == once("parent")
