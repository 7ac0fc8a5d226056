"""A sidecar that nobody needs ends by itself; one that a person started does not."""

import os
import subprocess
import sys
import time
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from seamark import Client, Settings, UserSaid
from tests.integration.launch.conftest import until

COMMAND = [sys.executable, "-I", "-m", "seamark_sidecar"]


@pytest.fixture
def up(place):
    """Starts a sidecar as a person would."""
    begun = []

    def up(*options):
        begun.append(
            subprocess.Popen(
                [*COMMAND, "up", *options],
                env=place.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        until(lambda: (place.data / "seamark.sock").exists())
        return begun[-1]

    yield up
    for process in begun:
        process.kill()
        process.wait()


def test_it_ends_after_the_time_it_was_given(place, up):
    began = time.monotonic()
    process = up("--idle-exit", "0.5")
    assert process.wait(10) == 0
    assert time.monotonic() - began > 0.5
    assert place.holder() is None
    until(lambda: not place.family())


@pytest.mark.parametrize("options", [(), ("--idle-exit", "0")])
def test_without_such_a_time_it_stays(up, options):
    process = up(*options)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.6)


def test_in_the_background_it_ends_too(place):
    asked = subprocess.run(
        [*COMMAND, "up", "--detach", "--idle-exit", "0.5"], env=place.environ, check=False
    )
    assert asked.returncode == 0
    assert not place.holder().launched
    until(lambda: not place.family(), within=10)
    assert place.logged("idle")


def test_calls_keep_it_alive(place, up):
    process = up("--idle-exit", "0.6")
    client = Client(Settings(address=place.address))
    session = client.start_session(project_path=str(place.project))
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        session.observe(UserSaid(text="hi"))
        assert client.flush(5)
        time.sleep(0.1)
        assert process.poll() is None
    client.close()
    assert process.wait(10) == 0


def test_health_checks_do_not(place, up):
    process = up("--idle-exit", "0.6")
    with grpc.insecure_channel(place.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)

        def checked():
            try:
                stub.Check(health_pb2.HealthCheckRequest(), timeout=1)
            except grpc.RpcError:
                time.sleep(0.01)
            return process.poll() is not None

        until(checked, within=10)
    assert process.returncode == 0


@pytest.mark.parametrize("value", ["-1", "soon", "1e12"])
def test_a_wrong_time_is_refused(place, value):
    asked = subprocess.run(
        [*COMMAND, "up", "--idle-exit", value],
        env=place.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert "--idle-exit" in asked.stderr
    assert os.listdir(place.root) == ["project"]  # noqa: PTH208
