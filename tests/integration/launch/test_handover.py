"""A newer SDK puts a sidecar of its own version in the place of an older one."""

import fcntl
import json
import shutil
import sys
import venv
from pathlib import Path

import pytest

import seamark
from seamark.codec import WIRE
from tests.integration.launch.conftest import until

# Several interpreters start and replace each other; a busy machine needs its time.
NEWER = "99.0.1"

REPORTS = """
client = connect()
session = client.start_session(project_path=os.getcwd())
for number in range(20):
    session.observe(UserSaid(text=str(number)))
assert client.flush(20), client.why_without_memory
print(session.producer_id)
"""
# The same, by an agent that lives long enough to see it through.
REPORTS_AND_STAYS = REPORTS + "client._launcher._thread.join(20)\n"
# An agent that reports until it is told to stop, and is then sure that all of it arrived.
REPORTS_ON = """
client = connect()
session = client.start_session(project_path=os.getcwd())
until(lambda: session.is_established)
print("ready", flush=True)
asked = threading.Thread(target=sys.stdin.readline, daemon=True)
asked.start()
count = 0
while asked.is_alive():
    session.observe(UserSaid(text=str(count)))
    count += 1
    time.sleep(0.001)
assert client.flush(20), client.why_without_memory
assert client.dropped == client.rejected == 0
print(count, session.producer_id)
"""


@pytest.fixture
def newer(place):
    """The Python of an environment with a newer seamark in it."""

    def make(version: str = NEWER, wire: int = WIRE) -> str:
        environment = place.root / f"env-{version}-{wire}"
        venv.create(environment, with_pip=False, symlinks=True)
        (packages,) = environment.glob("lib/python*/site-packages")
        for package in ("seamark", "seamark_sidecar"):
            source = Path(sys.modules["seamark"].__path__[0]).parents[1]
            folder = {"seamark": "sdk", "seamark_sidecar": "sidecar"}[package]
            shutil.copytree(
                source / folder / package,
                packages / package,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        replace_once(
            packages / "seamark" / "__init__.py",
            f'__version__ = "{seamark.__version__}"',
            f'__version__ = "{version}"',
        )
        if wire != WIRE:
            replace_once(packages / "seamark" / "codec.py", f"WIRE = {WIRE}", f"WIRE = {wire}")
        # Everything else comes from here.
        others = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "others.pth").write_text("\n".join(others))
        return str(environment / "bin" / "python")

    return make


def replace_once(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def settled(place, version):
    """Waits until a sidecar of this version has taken over."""
    until(lambda: (holder := place.holder()) and holder.version == version)
    until(lambda: len(place.sidecars()) == 1)


def test_a_newer_sdk_replaces_the_sidecar_of_an_older_one(place, newer):
    place.agent(REPORTS)
    old = place.running()
    place.python = newer()
    _, err = place.ended(REPORTS_AND_STAYS)
    settled(place, NEWER)
    assert place.running().pid != old.pid
    assert place.holder().launched
    assert f"replaces the sidecar {seamark.__version__}" in err
    assert "WARNING" not in err
    assert len(place.stored()) == 40
    # The next one finds it in place.
    assert "replaces" not in place.ended(REPORTS)[1]
    assert len(place.stored()) == 60


def test_nothing_is_lost_by_those_who_work_meanwhile(place, newer):
    workers = [place.begin(REPORTS_ON) for _ in range(3)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n", worker.stderr.read()
    place.python = newer()
    place.ended(REPORTS_AND_STAYS)
    settled(place, NEWER)
    expected = 20
    stored = {}
    for worker in workers:
        out, err = worker.communicate("stop\n", timeout=40)
        assert worker.returncode == 0, err
        assert "WARNING" not in err
        count, producer = out.split()
        stored[producer] = int(count)
        expected += int(count)
    rows = place.stored()
    assert len(rows) == expected
    for producer, count in stored.items():
        assert [number for name, number in rows if name == producer] == [*range(1, count + 1)]
    assert len(place.sidecars()) == 1


def test_an_sdk_with_a_newer_wire_replaces_a_sidecar_that_refuses_it(place, newer):
    place.agent(REPORTS)
    place.python = newer(wire=WIRE + 1)
    _, err = place.ended(REPORTS)
    settled(place, NEWER)
    assert "WARNING" not in err
    assert len(place.stored()) == 40


def test_an_older_sdk_leaves_a_newer_sidecar_alone(place, newer):
    here = place.python
    place.python = newer()
    place.agent(REPORTS)
    first = place.holder()
    place.python = here
    assert "replaces" not in place.ended(REPORTS)[1]
    assert place.holder() == first
    assert len(place.stored()) == 40


def test_a_sidecar_that_a_person_started_is_left_alone(place, newer):
    person = place.begin("from seamark_sidecar.cli import main; main()", "up")
    until(lambda: (place.data / "seamark.sock").exists())
    place.python = newer()
    _, err = place.ended(REPORTS_AND_STAYS)
    assert "left alone: a person started it" in err
    assert f"version {seamark.__version__}, is older than this seamark {NEWER}" in err
    assert "WARNING" not in err
    assert place.holder().pid == person.pid
    assert person.poll() is None


def test_without_a_newer_one_to_start_the_older_is_left_alone(place, newer):
    place.agent(REPORTS)
    first = place.holder()
    old_python, place.python = place.python, newer()
    _, err = place.ended(REPORTS_AND_STAYS, SEAMARK_SIDECAR_PYTHON=old_python)
    assert "left alone: no newer one can be started here" in err
    assert place.holder() == first


def test_several_newer_agents_replace_it_once(place, newer):
    place.agent(REPORTS)
    place.python = newer()
    agents = [place.begin(REPORTS_AND_STAYS) for _ in range(5)]
    for agent in agents:
        _, err = agent.communicate(timeout=60)
        assert agent.returncode == 0, err
        assert "WARNING" not in err
    settled(place, NEWER)
    assert place.starts() == 2
    assert len(place.stored()) == 20 * 6


def test_a_lock_that_names_another_process_stops_nobody(here, connect, monkeypatch, caplog):
    """As after a crash, when the number already belongs to somebody else."""
    monkeypatch.setattr(seamark, "__version__", NEWER)
    monkeypatch.setattr("seamark.spawn.version_of", lambda *_: NEWER)
    here.data.mkdir(mode=0o700)
    for pid in (0, 1, -1, 2**22 + 1):
        with (here.data / "sidecar.lock").open("w") as stream:
            record = {"pid": pid, "address": here.address, "version": "0.0.1", "launched": True}
            stream.write(json.dumps(record))
            stream.flush()
            fcntl.flock(stream, fcntl.LOCK_EX)
            client = connect()
            assert client._launcher.outdated()
            client._launcher._thread.join(20)
    assert caplog.text.count("which is no sidecar of yours") == 4
