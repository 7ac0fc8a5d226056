"""A real sidecar process in a short-lived data directory, to be measured, killed or frozen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
from grpc_health.v1 import health_pb2

from bench.model import give_model
from seamark import Client, Settings
from seamark.codec import WIRE, WIRE_KEY
from seamark.wire.v1 import sidecar_pb2

# What every call to it must carry.
METADATA = ((WIRE_KEY, str(WIRE)),)
READY_WITHIN = 20.0  # seconds
STOPPED_WITHIN = 10.0
ANSWERED_WITHIN = 10.0
STATUS_PAUSE = 0.02
# What it logs when words alone answer a search.
INDEX_NOT_ASKED = "index_not_asked"
# What a benchmark's processes must not inherit: it would move or change what is measured.
_FOREIGN = ("SEAMARK_", "GRPC_", "PYTHON")


class SidecarFailed(RuntimeError):
    """The sidecar did not come up, or not go down."""


def clean_environment() -> dict[str, str]:
    """The environment without what would steer Python, gRPC or us."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}


def ask_status(channel: grpc.Channel) -> sidecar_pb2.StatusResponse:
    """What the sidecar at the end of a channel says of itself."""
    ask = channel.unary_unary(
        "/seamark.wire.v1.SidecarService/Status",
        request_serializer=sidecar_pb2.StatusRequest.SerializeToString,
        response_deserializer=sidecar_pb2.StatusResponse.FromString,
    )
    return ask(sidecar_pb2.StatusRequest(), timeout=ANSWERED_WITHIN, metadata=METADATA)


class Sidecar:
    """Starts with the block it is used in; the directory is gone afterwards."""

    def __init__(self, *, with_model: bool = False) -> None:
        # Short, because a socket's path has about a hundred bytes; private, as mkdtemp makes it.
        self.directory = Path(tempfile.mkdtemp(prefix="smk-"))
        self.data_dir = self.directory / "d"
        self.address = f"unix:{self.directory}/s"
        self.starts = 0
        self._with_model = with_model
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            if self._with_model:
                give_model(self.data_dir)
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            self._remove()

    @property
    def environment(self) -> dict[str, str]:
        """What leads a process to this sidecar."""
        return clean_environment() | {
            "SEAMARK_DATA_DIR": str(self.data_dir),
            "SEAMARK_ADDRESS": self.address,
            "SEAMARK_LOG_LEVEL": "warning",
        }

    def client(self, **changes: Any) -> Client:
        """An SDK client with default settings but for the changes."""
        return Client(Settings(address=self.address, **changes))

    @property
    def pid(self) -> int:
        """Its process, while it has one."""
        if self._process is None:
            raise SidecarFailed("the sidecar has not been started")
        return self._process.pid

    def start(self) -> None:
        """Starts the process; returns when it is healthy."""
        self._await_health(self.launch())

    def launch(self) -> subprocess.Popen[bytes]:
        """Starts the process; returns at once."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "seamark_sidecar", "up"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env=self.environment,
            )
        self.starts += 1
        return self._process

    def status(self) -> sidecar_pb2.StatusResponse:
        """What it says of itself; raises grpc.RpcError when it does not answer."""
        with grpc.insecure_channel(self.address) as channel:
            return ask_status(channel)

    def await_index(self, changes: int, within: float) -> None:
        """Returns when so many changes of the record, and all others, can be found."""
        limit = time.monotonic() + within
        with grpc.insecure_channel(self.address) as channel:
            while time.monotonic() < limit:
                index = ask_status(channel).index
                if index.ready and changes <= index.last_seq <= index.applied_seq:
                    return
                time.sleep(STATUS_PAUSE)
        raise SidecarFailed(
            f"the index did not follow within {within:g} s: it is "
            f"{'' if index.ready else 'not '}ready and has {index.applied_seq:,} of "
            f"{index.last_seq:,} changes; {self._last_words()}"
        )

    def said(self, event: str) -> int:
        """How often it logged this, in all its lives."""
        return (self.directory / "log").read_text(errors="replace").count(f'"{event}"')

    def kill(self) -> None:
        """SIGKILL; the socket stays behind as it does after a crash."""
        process = self._running()
        process.kill()
        process.wait()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open, nothing answers."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Goes on after `freeze`."""
        self._running().send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ends it as its user would; what it had queued is committed."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise SidecarFailed(
                f"the sidecar did not stop within {STOPPED_WITHIN:g} s: {self._last_words()}"
            ) from error

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise SidecarFailed(f"the sidecar does not run: {self._last_words()}")
        return self._process

    def _await_health(self, process: subprocess.Popen[bytes]) -> None:
        limit = time.monotonic() + READY_WITHIN
        while time.monotonic() < limit:
            if process.poll() is not None:
                raise SidecarFailed(f"the sidecar ended at its start: {self._last_words()}")
            if self._is_healthy():
                return
            time.sleep(0.01)
        process.kill()
        process.wait()
        raise SidecarFailed(f"the sidecar was not ready within {READY_WITHIN:g} s")

    def _is_healthy(self) -> bool:
        # A new channel for each question: one that failed once would wait before it tries again.
        with grpc.insecure_channel(self.address) as channel:
            ask = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            try:
                answer = ask(health_pb2.HealthCheckRequest(), timeout=1.0)
            except grpc.RpcError:
                return False
        return answer.status == health_pb2.HealthCheckResponse.SERVING

    def _last_words(self) -> str:
        with suppress(OSError):
            return (self.directory / "log").read_text(errors="replace")[-500:].strip()
        return "it said nothing"

    def _remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
