"""A sidecar shares nothing with the agent that started it but the user."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from seamark.spawn import PASSED_ON
from tests.integration.launch.conftest import until

# An agent with all kinds of things that a sidecar could inherit; it waits to be looked at.
BURDENED = """
import fcntl, signal, socket
descriptors = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]
pair = socket.socketpair()
for each in (*descriptors, pair[0].fileno(), pair[1].fileno()):
    os.set_inheritable(each, True)
client = connect()
session = client.start_session(project_path=os.getcwd())
session.observe(UserSaid(text="hi"))
assert client.flush(20), client.why_without_memory
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hostile(place):
    """A project that wants to run its own code in the sidecar, and where that would show."""
    proof = place.root / "proof"
    code = f"open({str(proof)!r}, 'a').write(__file__ + chr(10))\n"
    project = place.project
    for name in ("sqlite3", "json", "sitecustomize", "usercustomize", "grpc", "structlog"):
        (project / f"{name}.py").write_text(code)
    for name in ("seamark", "seamark_sidecar", "google", "click"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(code)
        (project / name / "__main__.py").write_text(code)
    (project / "evil.pth").write_text(f"import os; {code}")
    (project / "pyvenv.cfg").write_text("home = /nowhere\n")
    (project / "startup.py").write_text(code)
    # Where user site packages would be, if they were looked at.
    user = project / "lib" / f"python{'.'.join(map(str, sys.version_info[:2]))}"
    (user / "site-packages").mkdir(parents=True)
    (user / "site-packages" / "usercustomize.py").write_text(code)
    (user / "site-packages" / "evil.pth").write_text(f"import os; {code}")
    place.proof = proof
    return place


SEDUCTIONS = {
    "the current directory alone": {},
    "PYTHONPATH": {"PYTHONPATH": "."},
    "an absolute PYTHONPATH": {"PYTHONPATH": "{project}"},
    "PYTHONSTARTUP": {"PYTHONSTARTUP": "{project}/startup.py"},
    "PYTHONUSERBASE": {"PYTHONUSERBASE": "{project}"},
    "PYTHONHOME": {"PYTHONHOME": "{project}"},
    "PYTHONPLATLIBDIR": {"PYTHONPLATLIBDIR": "{project}/lib"},
    "a PATH into the project": {"PATH": "{project}:.:/usr/bin:/bin"},
    "a debugger": {"PYTHONBREAKPOINT": "startup.x", "PYTHONINSPECT": "1"},
}


@pytest.mark.parametrize("seduction", SEDUCTIONS)
def test_nothing_of_the_project_is_imported_by_the_sidecar(hostile, seduction):
    lures = {
        name: value.format(project=hostile.project) for name, value in SEDUCTIONS[seduction].items()
    }
    # The agent itself was started well; only then is its environment turned against the sidecar.
    program = f"""
os.environ.update({lures!r})
client = connect()
session = client.start_session(project_path=os.getcwd())
session.observe(UserSaid(text="hi"))
assert client.flush(20), client.why_without_memory
"""
    # `-c` puts the current directory first on the agent's own path: it must not be the project.
    out = hostile.agent(
        f"os.chdir({str(hostile.project)!r})" + program, options={"cwd": hostile.root}
    )
    assert out == ""
    assert len(hostile.stored()) == 1
    assert not hostile.proof.exists(), hostile.proof.read_text()


def test_the_lures_do_work_on_those_who_look(hostile):
    """Otherwise the test above proves nothing."""
    agent = hostile.begin("print('never reached')", PYTHONPATH=str(hostile.project))
    agent.communicate(timeout=20)
    assert "sitecustomize.py" in hostile.proof.read_text()


@pytest.fixture
def burdened(place):
    """A sidecar that was started by an agent with a lot to inherit."""
    secrets = {
        "OPENAI_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_LIBRARY_PATH": "/nowhere",
        "PYTHONUNBUFFERED": "1",
        "VIRTUAL_ENV": "/somewhere",
        "GIT_DIR": "/nowhere",
        "LC_TIME": "C",
        "TZ": "UTC",
        "SEAMARK_LOG_LEVEL": "info",
        "MY_APP": "x",
    }
    agent = place.begin(BURDENED, **secrets)
    assert agent.stdout.readline() == "ready\n", agent.stderr.read()
    return place


def test_it_inherits_only_the_environment_it_needs(burdened):
    environ = burdened.running().environ()
    foreign = {
        name
        for name in environ
        if name not in PASSED_ON and not name.startswith(("LC_", "SEAMARK_"))
    }
    assert foreign == set()
    assert "secret" not in environ.values()
    assert environ["LC_TIME"] == "C"
    assert environ["SEAMARK_DATA_DIR"] == str(burdened.data)
    assert environ["SEAMARK_ADDRESS"] == burdened.address


def test_it_runs_at_the_root_in_a_session_of_its_own(burdened):
    process = burdened.running()
    assert process.cwd() == "/"
    assert os.getsid(process.pid) == process.pid
    assert os.getpgid(process.pid) == process.pid
    assert process.terminal() is None
    assert process.cmdline()[1:5] == ["-I", "-m", "seamark_sidecar", "up"]


def descriptors(pid):
    found = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # Closed meanwhile.
            found[int(entry.name)] = str(entry.readlink())
    return found


def test_its_descriptors_are_its_own(burdened):
    process = burdened.running()
    open_files = descriptors(process.pid)
    assert open_files[0] == os.devnull
    assert open_files[1] == open_files[2] == str(burdened.log)
    assert os.devnull not in [path for number, path in open_files.items() if number > 2]
    pipes = {
        path
        for path in descriptors(burdened.agents[0].pid).values()
        if path.startswith(("pipe:", "socket:"))
    }
    assert pipes
    assert pipes.isdisjoint(open_files.values())
    assert burdened.log.stat().st_mode & 0o777 == 0o600


def test_ctrl_c_for_the_agent_is_not_for_the_sidecar(place):
    agent = place.begin(BURDENED, options={"start_new_session": True})
    assert agent.stdout.readline() == "ready\n", agent.stderr.read()
    sidecar = place.running()
    os.killpg(agent.pid, signal.SIGINT)
    agent.communicate(timeout=20)
    assert sidecar.is_running()
    assert place.holder() is not None


def test_an_agent_that_blocks_or_ignores_signals_starts_one_that_can_be_stopped(place):
    program = """
import signal
everything = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
for number in everything - {signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
client = connect()
session = client.start_session(project_path=os.getcwd())
session.observe(UserSaid(text="hi"))
assert client.flush(20)
"""
    place.agent(program)
    place.running().terminate()
    until(lambda: not place.family(), within=10)
    assert place.logged("stopped")


def test_an_agent_may_wait_for_any_child_of_its_own(place):
    """Some apps reap whatever child ends; the launcher must not stumble over it."""
    program = """
client = connect()
session = client.start_session(project_path=os.getcwd())
until(lambda: session.is_established)
os.kill(__import__("json").load(open(sys.argv[1]))["pid"], 9)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    pass
session.observe(UserSaid(text="hi"))
assert client.flush(20), client.why_without_memory
"""
    place.agent(program, f"{place.data}/sidecar.lock")
    assert place.starts() == 2
