"""What the sidecar says to callers that speak differently, or nonsense."""

from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hypothesis import given
from hypothesis import strategies as st

from seamark.wire.v1 import operator_pb2
from seamark.wire.v1 import sidecar_pb2 as wire

from .garbage import messages
from .process import METADATA, PATIENCE, Talk, reason_of, refused

SERVICES = [
    wire.DESCRIPTOR.services_by_name["SidecarService"],
    operator_pb2.DESCRIPTOR.services_by_name["OperatorService"],
]
METHODS = {
    f"/{service.full_name}/{each.name}": each for service in SERVICES for each in service.methods
}


def raw(shared, path, request, metadata=METADATA):
    """Sends bytes, whatever they are."""
    return shared.channel.unary_unary(path)(request, timeout=PATIENCE, metadata=metadata)


@pytest.mark.parametrize("path", METHODS)
def test_a_newer_sdk_is_told_so_politely(shared, path):
    # Also when its requests cannot be read any more.
    for request in (b"", b"\xff\xff\xff"):
        with refused("WIRE_TOO_NEW", grpc.StatusCode.FAILED_PRECONDITION) as said:
            raw(shared, path, request, [("seamark-wire", "2")])
        assert "upgrade the sidecar" in said[0]


@pytest.mark.parametrize("path", METHODS)
def test_an_older_sdk_is_told_so_politely(shared, path):
    with refused("WIRE_TOO_OLD", grpc.StatusCode.FAILED_PRECONDITION) as said:
        raw(shared, path, b"", [("seamark-wire", "0")])
    assert "upgrade the SDK" in said[0]


@pytest.mark.parametrize("path", METHODS)
def test_a_caller_without_metadata_is_told_what_is_missing(shared, path):
    with refused("BAD_REQUEST", grpc.StatusCode.INVALID_ARGUMENT) as said:
        raw(shared, path, b"", ())
    assert "seamark-wire is missing" in said[0]


def test_an_sdk_of_another_version_runs_without_memory_and_says_so(shared, monkeypatch, caplog):
    monkeypatch.setattr("seamark.link._METADATA", (("seamark-wire", "7"),))
    client = shared.client()
    session = client.start_session(project_name="future")
    assert "wire version 7" in client.why_without_memory
    assert not session.prepare_step(3)
    assert session.search("x").text
    assert sum("without memory" in record.message for record in caplog.records) == 1


def test_health_is_the_standard_one(shared):
    stub: Any = health_pb2_grpc.HealthStub(shared.channel)
    answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_call_nobody_knows_is_unimplemented(shared):
    with pytest.raises(grpc.RpcError) as caught:
        raw(shared, "/seamark.wire.v1.SidecarService/Teleport", b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_message_of_any_size_is_answered(shared):
    with pytest.raises(grpc.RpcError) as caught:
        raw(shared, next(iter(METHODS)), b"\0" * (17 * 1024 * 1024))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert shared.status().process_id == shared.process.pid


def outcome(shared, path, request):
    """The reason of a refusal, or nothing; a fault of ours fails the test."""
    try:
        raw(shared, path, request)
    except grpc.RpcError as refusal:
        error: Any = refusal
    else:
        return ""
    reason = reason_of(error)
    assert reason not in (None, "FAULT"), (path, error.details(), shared.said()[-2000:])
    assert error.code() is not grpc.StatusCode.INTERNAL
    assert error.details()
    return reason


@pytest.mark.parametrize("path", METHODS)
def test_no_request_is_a_fault_of_ours(shared, talk, path):
    known = {
        "session_id": talk.id,
        "capability": talk.capability,
        "claim": talk.claim,
        "producer_id": "p",
        "name": talk.project.name,
    }

    @given(request=messages(METHODS[path].input_type, known))
    def fuzz(request):
        outcome(shared, path, request.SerializeToString())

    fuzz()
    assert shared.is_running


@pytest.mark.parametrize("path", METHODS)
def test_bytes_that_are_no_request_are_answered_too(shared, path):
    @given(request=st.binary(max_size=60))
    def fuzz(request):
        outcome(shared, path, request)

    fuzz()
    assert outcome(shared, path, b"\x0a\xff\xff\xff\xff\x0f") == "UNDECODABLE"
    assert shared.is_running


def test_the_session_of_a_fuzzed_sidecar_still_works(shared, project):
    talk = Talk(shared, project=project)
    assert talk.ingest(talk.batch(None))[0].acknowledged_count == 1
