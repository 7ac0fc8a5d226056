"""The SDK and its stubs load and speak on every protobuf runtime that the package admits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What scripts/environment.py answers when the package index is out of reach.
UNREACHABLE = 75

RUNTIMES = {
    # protobuf   a grpcio of its time; the first are the floors of pyproject.toml
    "5.29": ("grpcio==1.71.2; python_version < '3.14'", "grpcio==1.75.*; python_version >= '3.14'"),
    "6.33": ("grpcio==1.78.*",),
    "7.36": ("grpcio>=1.85",),
}

CONVERSATION = """
import sys
from concurrent import futures

import google.protobuf
import grpc
import seamark
from seamark.wire.v1 import events_pb2, sidecar_pb2, sidecar_pb2_grpc

version, socket, sdk = sys.argv[1:]
assert google.protobuf.__version__.startswith(version + "."), google.protobuf.__version__
assert seamark.__file__.startswith(sdk), seamark.__file__

batch = events_pb2.EventBatch(session_id="s", producer_id="p", capability=b"\\xff\\x00")
called = batch.events.add(sequence=2**63)
called.observe_time.FromJsonString("2025-01-01T00:00:00.123456Z")
called.tool_called.call_id = "c"
called.tool_called.arguments_json = '{"path": "gr\\u00fc\\u00df.py"}'
returned = batch.events.add(sequence=2**63 + 1)
returned.tool_returned.outcome = events_pb2.ToolReturned.OUTCOME_ERROR
again = events_pb2.EventBatch.FromString(batch.SerializeToString())
assert again == batch
assert [event.WhichOneof("body") for event in again.events] == ["tool_called", "tool_returned"]


class Echo(sidecar_pb2_grpc.SidecarServiceServicer):
    def Ingest(self, request, context):
        receipts = [
            sidecar_pb2.BatchReceipt(acknowledged_count=len(batch.events))
            for batch in request.batches
        ]
        return sidecar_pb2.IngestResponse(receipts=receipts)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
sidecar_pb2_grpc.add_SidecarServiceServicer_to_server(Echo(), server)
server.add_insecure_port(f"unix:{socket}")
server.start()
with grpc.insecure_channel(f"unix:{socket}") as channel:
    request = sidecar_pb2.IngestRequest(batches=[batch, events_pb2.EventBatch()])
    answer = sidecar_pb2_grpc.SidecarServiceStub(channel).Ingest(request, timeout=20)
server.stop(grace=None).wait()
print(*(receipt.acknowledged_count for receipt in answer.receipts))
"""


def _environment(version: str) -> Path:
    directory = ROOT / ".venv-runtimes" / f"protobuf-{version}"
    make = [sys.executable, str(ROOT / "scripts" / "environment.py"), "--wheels-only"]
    made = subprocess.run(
        [*make, str(directory), f"protobuf=={version}.*", *RUNTIMES[version]],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode == UNREACHABLE and os.environ.get("CI") != "true":
        pytest.skip(f"no package index to get protobuf {version} from")
    assert made.returncode == 0, made.stderr
    return directory


# Installing an environment may take a while, once.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", RUNTIMES)
def test_the_stubs_speak_on_this_protobuf(version, tmp_path):
    python = _environment(version) / "bin" / "python"
    talked = subprocess.run(
        [python, "-W", "error", "-c", CONVERSATION, version, "s.sock", ROOT / "sdk"],
        # A relative socket path is short enough wherever the tests run.
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "sdk")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert talked.returncode == 0, talked.stderr
    assert talked.stdout.split() == ["2", "0"]
