"""A recording sidecar, clients of it, and agents in processes of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from seamark import Client
from seamark.testing import RecordingSidecar

# Long enough for a busy machine; what deadlines do is tested where they matter.
PATIENT: dict[str, Any] = {
    "session_start_deadline": 10.0,
    "tool_result_deadline": 10.0,
    "step_deadline": 10.0,
    "tool_deadline": 10.0,
    "close_deadline": 10.0,
}

# An agent that hangs says where and ends, and so do its children. The watchdog thread of
# faulthandler would not do: it is not there in a child, whose exit would wait for it.
PREAMBLE = """
import faulthandler, os, signal, sys, threading, time
signal.signal(signal.SIGALRM, signal.SIG_DFL)
faulthandler.register(signal.SIGALRM, chain=True)
signal.alarm(20)
os.register_at_fork(after_in_child=lambda: signal.alarm(15))
from seamark import *
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def sidecar() -> Iterator[RecordingSidecar]:
    with RecordingSidecar() as recording:
        recording.system = "[system]"
        recording.first_message = "[first]"
        recording.step = "[step]"
        recording.tool_result = "[tool]"
        yield recording


@pytest.fixture
def client(sidecar: RecordingSidecar) -> Iterator[Client]:
    made: Client = sidecar.client(**PATIENT)
    yield made
    made.close(timeout=1.0)


@pytest.fixture
def agent(sidecar: RecordingSidecar) -> Run:
    """Runs a program that uses the SDK, with this sidecar unless told otherwise."""

    def run(program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PREAMBLE + program, *arguments],
            env={**os.environ, "SEAMARK_ADDRESS": sidecar.address, **SLOW_MACHINE, **environ},
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )

    return run


SLOW_MACHINE = {"SEAMARK_SESSION_START_MS": "10000", "SEAMARK_STEP_MS": "10000"}


@contextmanager
def undelivered(sidecar: RecordingSidecar) -> Iterator[None]:
    """Meanwhile no batch is acknowledged, and all else is well."""
    sidecar.refusal, sidecar.refused_call = "STORAGE_FULL", "Ingest"
    sidecar.refusal_code = grpc.StatusCode.UNAVAILABLE
    yield
    sidecar.refusal = sidecar.refused_call = ""


def in_flight(client: Client) -> None:
    """Waits until the sender has taken what was observed."""
    while client.outbox.queue:
        time.sleep(0.001)


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """Waits until something is so."""

    def wait(holds: Callable[[], Any], timeout: float = 10.0) -> Any:
        end = time.monotonic() + timeout
        while not (value := holds()) and time.monotonic() < end:
            time.sleep(0.005)
        assert value, "it did not happen in time"
        return value

    return wait
