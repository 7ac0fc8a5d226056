"""The sidecar with its workers, as somebody sees them who means them harm."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import psutil

from seamark.wire.v1 import operator_pb2, operator_pb2_grpc, sidecar_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire
from tests.chaos import skewed_sidecar
from tests.chaos.descriptors import open_descriptors

READY_WITHIN = 30.0  # seconds
STOPPED_WITHIN = 15.0
GONE_WITHIN = 1.0  # what a killed sidecar leaves behind has so long to end
METADATA = (("seamark-wire", "1"),)
WORKER = "seamark_sidecar.index_worker"
# What our processes must not inherit.
_FOREIGN = ("SEAMARK_", "GRPC_", "PYTHON", "XDG_RUNTIME_DIR")


class FamilyFailed(AssertionError):
    """The sidecar did not do what it must, whatever befalls it."""


def clean_environment() -> dict[str, str]:
    """The environment without what would steer Python, gRPC or us."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}


class Family:
    """Starts one sidecar after the other on the same data directory."""

    def __init__(self, directory: Path, data_dir: Path) -> None:
        self.data_dir = data_dir
        # A short path, because a socket's has about a hundred bytes.
        self.address = f"unix:{directory}/s"
        self.log = directory / "sidecar.log"
        self.clock = directory / "clock"
        self.starts = 0
        self.faults = ""
        # Megabytes; with less nothing more is learnt. The disk may be small.
        self.least_free = 0
        self._process: subprocess.Popen[bytes] | None = None
        skewed_sidecar.set_clock(self.clock, 0.0)

    # The sidecar.

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of the process that ended last."""
        return self._process.poll() if self._process is not None else None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **clean_environment(),
            "SEAMARK_DATA_DIR": str(self.data_dir),
            "SEAMARK_ADDRESS": self.address,
            "SEAMARK_LOG_LEVEL": "info",
            "SEAMARK_MIN_FREE_MB": str(self.least_free),
        }

    def launch(self, faults: str = "", *, skewed: bool = True) -> None:
        """Starts the process without waiting for it."""
        program = [str(Path(skewed_sidecar.__file__))] if skewed else ["-m", "seamark_sidecar"]
        self.faults = faults
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", *program, "up"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                env={
                    **self.environment,
                    skewed_sidecar.VARIABLE: str(self.clock),
                    "SEAMARK_FAULTS": faults,
                },
            )
        self.starts += 1

    def start(self, faults: str = "", *, skewed: bool = True) -> bool:
        """Starts the process; False when it ended before it answered."""
        self.launch(faults, skewed=skewed)
        return self.await_answer()

    def await_answer(self) -> bool:
        """Waits until it answers; False when it ended instead."""
        limit = time.monotonic() + READY_WITHIN
        while time.monotonic() < limit:
            if not self.is_running:
                return False
            with contextlib.suppress(grpc.RpcError):
                self.status()
                return True
            time.sleep(0.01)
        raise FamilyFailed(f"the sidecar was not ready within {READY_WITHIN:g} s")

    def kill(self) -> None:
        """SIGKILL; then none of its workers may stay."""
        workers = self.workers()
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.require_gone(workers)

    def stop(self) -> float:
        """SIGTERM; returns how long it took."""
        assert self._process is not None
        workers = self.workers()
        began = time.monotonic()
        self._process.terminate()
        try:
            self._process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
            raise FamilyFailed(f"the sidecar did not stop within {STOPPED_WITHIN:g} s") from None
        took = time.monotonic() - began
        self.require_gone(workers)
        return took

    def down(self) -> None:
        """Ends it by the command that people use; one second later nothing of it is left."""
        command = [sys.executable, "-I", "-m", "seamark_sidecar", "down"]
        done = subprocess.run(
            command, env=self.environment, cwd="/", capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise FamilyFailed(f"`seamark down` failed: {done.stdout}{done.stderr}")
        assert self._process is not None
        limit = time.monotonic() + GONE_WITHIN
        while (left := self.members()) and time.monotonic() < limit:
            self._process.poll()
            time.sleep(0.02)
        if left:
            names = [f"{each.pid}: {' '.join(each.cmdline())}" for each in left]
            raise FamilyFailed(f"one second after `seamark down` there are {names}")
        self._process.wait(GONE_WITHIN)

    def end(self) -> None:
        """Leaves nothing behind, whatever happened."""
        for member in self.members():
            with contextlib.suppress(psutil.Error):
                member.kill()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """To the sidecar alone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    # Its workers.

    def workers(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [
                each for each in psutil.Process(self.pid).children() if WORKER in each.cmdline()
            ]
        return []

    def await_worker(self, *, other_than: list[psutil.Process], within: float) -> None:
        """Waits until a new worker runs."""
        limit = time.monotonic() + within
        while not (found := self.workers()) or set(found) & set(other_than):
            if time.monotonic() > limit:
                raise FamilyFailed(f"no new worker was there within {within:g} s")
            time.sleep(0.02)

    def require_gone(self, processes: list[psutil.Process]) -> None:
        """None of them may be there a second from now."""
        limit = time.monotonic() + GONE_WITHIN
        while left := [each.pid for each in processes if _lives(each)]:
            if time.monotonic() > limit:
                raise FamilyFailed(f"workers {left} outlived their sidecar by {GONE_WITHIN:g} s")
            time.sleep(0.01)

    def members(self) -> list[psutil.Process]:
        """All processes of the family, whoever is their parent by now."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("SEAMARK_DATA_DIR") == str(self.data_dir):
                    found.append(process)
        return [process for process in found if _lives(process)]

    def descriptors(self) -> list[str]:
        """What the sidecar has open."""
        return open_descriptors(self.pid)

    # What it says.

    def status(self) -> wire.StatusResponse:
        answer: wire.StatusResponse = self._ask(
            lambda channel: sidecar_pb2_grpc.SidecarServiceStub(channel).Status,
            wire.StatusRequest(),
        )
        return answer

    def find(self, project: str, query: str) -> list[str]:
        """The memories that a search finds, best first."""
        request = operator_pb2.FindMemoriesRequest(
            project=wire.ProjectHint(name=project), query=query, limit=20
        )
        answer = self._ask(
            lambda channel: operator_pb2_grpc.OperatorServiceStub(channel).FindMemories, request
        )
        return [each.memory_id for each in answer.hits]

    def _ask(self, method: Callable[[grpc.Channel], Any], request: Any) -> Any:
        # A new channel for each question: one that failed once would wait before it tries again.
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(self.address, options=options) as channel:
            return method(channel)(request, timeout=5.0, metadata=METADATA)

    def logged(self) -> Counter[str]:
        """How often each line was logged, by its name, and how often the engine panicked."""
        events: Counter[str] = Counter()
        if not self.log.exists():
            return events
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                events[json.loads(line)["event"]] += 1
            except (ValueError, KeyError, TypeError):
                events["panics"] += " panicked at " in line
        return events

    def last_words(self) -> str:
        """The end of the log."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""

    def tracebacks(self) -> list[str]:
        """What Python complained of; a panic of the engine on a spoilt index is not that."""
        if not self.log.exists():
            return []
        _, *found = self.log.read_text(errors="replace").split("Traceback (most recent call last)")
        return [each[:2000] for each in found]


def _lives(process: psutil.Process) -> bool:
    """Whether it has not ended; a zombie has, its new parent has not looked yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
