"""The real sidecar as a process, in a data directory of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

import seamark
from seamark import codec
from seamark.events import Body
from seamark.wire.v1 import events_pb2, operator_pb2, operator_pb2_grpc, sidecar_pb2_grpc
from seamark.wire.v1 import sidecar_pb2 as wire

COMMAND = (sys.executable, "-m", "seamark_sidecar", "up")
# Long enough for a busy machine; deadlines are tested where they matter.
PATIENCE = 20.0
METADATA = (("seamark-wire", "1"),)


class Sidecar:
    """Starts and stops one sidecar after the other on the same directory."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.root = root
        self.data = root / "d"
        self.address = f"unix:{self.data / 'seamark.sock'}"
        self.environ = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("SEAMARK_") and name != "XDG_RUNTIME_DIR"
            },
            "SEAMARK_DATA_DIR": str(self.data),
            **environ,
        }
        self.log = root / "log"
        self._running: list[subprocess.Popen[bytes]] = []
        self._clients: list[seamark.Client] = []
        self._channel: grpc.Channel | None = None

    # The process.

    def start(
        self,
        command: Sequence[str] = COMMAND,
        *,
        environ: Mapping[str, str] | None = None,
        stderr: int | None = None,
    ) -> Sidecar:
        """Starts a process and waits until it answers."""
        process = self.launch(command, environ=environ, stderr=stderr)
        wait_until(lambda: process.poll() is not None or self._answers())
        assert process.poll() is None, self.said()
        return self

    def launch(
        self,
        command: Sequence[str] = COMMAND,
        *,
        environ: Mapping[str, str] | None = None,
        stderr: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts a process without waiting for it."""
        self._forget_channel()
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**self.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log if stderr is None else stderr,
            )
        self._running.append(process)
        return process

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._running[-1]

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> float:
        """Asks it to stop; returns how long it took."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said()
        return time.monotonic() - start

    def kill(self) -> None:
        """Ends it as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self) -> None:
        """Leaves nothing behind, whatever happened."""
        for client in self._clients:
            client.close(timeout=0.2)
        self._forget_channel()
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()

    def said(self) -> str:
        """All that it wrote to standard error."""
        return self.log.read_text(errors="replace")

    # Talking to it.

    def client(self, **settings: Any) -> seamark.Client:
        patient = {
            "session_start_deadline": PATIENCE,
            "tool_result_deadline": PATIENCE,
            "step_deadline": PATIENCE,
            "tool_deadline": PATIENCE,
            "close_deadline": PATIENCE,
        }
        client = seamark.Client(seamark.Settings(address=self.address, **{**patient, **settings}))
        self._clients.append(client)
        return client

    @property
    def channel(self) -> grpc.Channel:
        if self._channel is None:
            self._channel = grpc.insecure_channel(
                self.address, options=[("grpc.use_local_subchannel_pool", 1)]
            )
        return self._channel

    @property
    def calls(self) -> sidecar_pb2_grpc.SidecarServiceStub:
        return sidecar_pb2_grpc.SidecarServiceStub(self.channel)

    @property
    def operator(self) -> operator_pb2_grpc.OperatorServiceStub:
        return operator_pb2_grpc.OperatorServiceStub(self.channel)

    def ask(self, name: str, request: Message, metadata: Any = METADATA) -> Any:
        """Makes a call of either service."""
        stub = self.calls if hasattr(self.calls, name) else self.operator
        return getattr(stub, name)(request, timeout=PATIENCE, metadata=metadata)

    def status(self) -> wire.StatusResponse:
        answer: wire.StatusResponse = self.ask("Status", wire.StatusRequest())
        return answer

    def explain(self, session_id: str) -> operator_pb2.ExplainSessionResponse:
        request = operator_pb2.ExplainSessionRequest(session_id=session_id)
        answer: operator_pb2.ExplainSessionResponse = self.ask("ExplainSession", request)
        return answer

    def memories(self, project: str) -> list[operator_pb2.MemoryRecord]:
        request = operator_pb2.ListMemoriesRequest(project=wire.ProjectHint(name=project))
        return list(self.ask("ListMemories", request).memories)

    # Looking behind it.

    def rows(self, file: str, query: str, *values: object) -> list[Any]:
        """What a database file holds."""
        uri = f"file:{self.data / file}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(query, values).fetchall()

    def stored(self, session_id: str) -> list[int]:
        """The sequences of a session's events in the journal, in the order they came."""
        query = "SELECT sequence FROM events WHERE session_id = ? ORDER BY arrival"
        return [row[0] for row in self.rows("journal.db", query, session_id)]

    def bytes_on_disk(self) -> bytes:
        """All that is in the data directory."""
        files = sorted(path for path in self.data.iterdir() if path.is_file())
        return b"".join(path.read_bytes() for path in files)

    def _answers(self) -> bool:
        with contextlib.suppress(grpc.RpcError):
            self.calls.Status(wire.StatusRequest(), timeout=2.0, metadata=METADATA)
            return True
        # A channel that failed once waits before it tries again.
        self._forget_channel()
        return False

    def _forget_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


class Talk:
    """One session by raw calls, for what the SDK would never send."""

    def __init__(self, sidecar: Sidecar, *, project: str = "", path: str = "", **start: Any):
        self.sidecar = sidecar
        self.id = secrets.token_hex(16)
        self.claim = secrets.token_bytes(16)
        self.project = wire.ProjectHint(name=project, path=path)
        self._more = start
        self.welcome = self.start()
        self.capability: bytes = self.welcome.capability

    def start(self, **changes: Any) -> wire.StartSessionResponse:
        request = wire.StartSessionRequest(
            **{
                "session_id": self.id,
                "claim": self.claim,
                "project": self.project,
                **self._more,
                **changes,
            }
        )
        answer: wire.StartSessionResponse = self.sidecar.ask("StartSession", request)
        return answer

    def batch(self, *bodies: Body | None, first: int = 1, **changes: Any) -> events_pb2.EventBatch:
        """The bodies as events with sequences from `first`."""
        return events_pb2.EventBatch(
            **{
                "session_id": self.id,
                "producer_id": "p",
                "capability": self.capability,
                "events": [
                    codec.event_to_wire(number, time.time(), body)
                    for number, body in enumerate(bodies, first)
                ],
                **changes,
            }
        )

    def ingest(self, *batches: events_pb2.EventBatch) -> list[wire.BatchReceipt]:
        return list(self.sidecar.ask("Ingest", wire.IngestRequest(batches=batches)).receipts)

    def prepare(self, step: int = 5, *bodies: Body, **changes: Any) -> wire.Injection:
        request = wire.PrepareStepRequest(events=self.batch(*bodies, **changes), step=step)
        answer: wire.Injection = self.sidecar.ask("PrepareStep", request).injection
        return answer

    def complete(self, *bodies: Body, **facts: Any) -> wire.SessionSummary:
        request = wire.CompleteSessionRequest(events=self.batch(*bodies), **facts)
        answer: wire.SessionSummary = self.sidecar.ask("CompleteSession", request).summary
        return answer

    def validate(self, passed: bool) -> wire.SessionSummary:
        request = wire.ReportValidationRequest(
            session_id=self.id, capability=self.capability, passed=passed
        )
        answer: wire.SessionSummary = self.sidecar.ask("ReportValidation", request).summary
        return answer


@contextlib.contextmanager
def refused(reason: str, code: grpc.StatusCode | None = None) -> Iterator[list[str]]:
    """Expects a call to be refused with this reason; yields a list that gets its sentence."""
    sentence: list[str] = []
    with pytest.raises(grpc.RpcError) as caught:
        yield sentence
    error = caught.value
    assert reason_of(error) == reason, (error.code(), error.details())
    assert code is None or error.code() is code
    sentence.append(error.details() or "")


def reason_of(error: Any) -> str | None:
    """What a refusal says to programs."""
    for key, value in error.trailing_metadata() or ():
        if key == "seamark-reason":
            return str(value)
    return None


def wait_until(happened: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Looks again and again until it happened."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
