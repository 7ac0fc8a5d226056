"""What every call passes on its way in."""

from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest

from seamark.errors import UndecodableMessage
from seamark.wire.v1 import operator_pb2, sidecar_pb2
from seamark_sidecar.api import door
from seamark_sidecar.api.errors import STATUS, status_of
from seamark_sidecar.model import errors
from seamark_sidecar.model.errors import BadRequest, SidecarError, WireTooNew, WireTooOld

# Raised while the sidecar starts, when there is nobody to answer yet.
ONLY_AT_START = {errors.AlreadyRunning, errors.DatabaseTooNew}


@pytest.mark.parametrize("spoken", ["1", str(door.NEWEST_WIRE), str(door.OLDEST_WIRE), "01"])
def test_our_own_versions_are_welcome(spoken):
    door.check_wire(spoken)


@pytest.mark.parametrize("spoken", [str(door.NEWEST_WIRE + 1), "99", "999999999"])
def test_a_newer_sdk_is_told_to_upgrade_the_sidecar(spoken):
    with pytest.raises(WireTooNew, match=f"wire version {spoken}.*upgrade the sidecar: pip"):
        door.check_wire(spoken)


@pytest.mark.parametrize("spoken", ["0", "", "-1", "one", "1.0", "9" * 5_000, "１", " 1"])
def test_an_older_or_senseless_version_is_told_to_upgrade_the_sdk(spoken):
    with pytest.raises(WireTooOld, match="upgrade the SDK: pip") as caught:
        door.check_wire(spoken)
    assert len(str(caught.value)) < 200


def test_a_caller_without_a_version_is_told_what_is_missing():
    with pytest.raises(BadRequest, match="seamark-wire is missing"):
        door.check_wire(None)


OURS = [each for each in SidecarError.__subclasses__() if each.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", [each for each in OURS if each not in ONLY_AT_START])
def test_every_error_of_ours_has_a_status_and_a_reason(kind):
    assert kind in STATUS
    code, reason = status_of(kind("sentence"))
    assert code not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.OK)
    assert reason.isascii()
    assert reason == reason.upper()


def test_an_error_of_ours_without_a_row_is_a_refusal_and_no_fault():
    class Unheard(SidecarError):
        pass

    assert status_of(Unheard("x")) == (grpc.StatusCode.FAILED_PRECONDITION, "REFUSED")


def test_no_two_errors_share_a_reason():
    reasons = [reason for _, reason in STATUS.values()]
    assert len(reasons) == len(set(reasons))


def test_anything_else_is_a_fault_of_ours():
    assert status_of(KeyError("x")) == (grpc.StatusCode.INTERNAL, "FAULT")


async def test_what_is_said_fits_into_the_headers_of_a_status():
    class Call:
        """As much of gRPC's context as an answer needs."""

        def invocation_metadata(self):
            return (("other", b"x"), ("seamark-wire", "1"))

        def set_trailing_metadata(self, metadata):
            self.metadata = metadata

        async def abort(self, code, details):
            self.code, self.details = code, details
            raise grpc.aio.AbortError

    class Servicer:
        @door.rpc
        async def ask(self, request, context):
            raise BadRequest("x" * 100_000)

    call: Any = Call()
    with pytest.raises(grpc.aio.AbortError):
        await Servicer().ask(None, call)
    assert (call.code, call.metadata) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        (("seamark-reason", "BAD_REQUEST"),),
    )
    assert 100 < len(call.details) <= door.LONGEST_MESSAGE


def test_bytes_that_are_no_request_are_answered_like_one():
    assert status_of(UndecodableMessage("no"))[0] is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "service",
    [
        sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"],
        operator_pb2.DESCRIPTOR.services_by_name["OperatorService"],
    ],
    ids=lambda service: service.name,
)
def test_every_call_of_the_contract_is_answered(service):
    class Servicer:
        def __getattr__(self, name):
            return name

    generic = door.handlers(service, Servicer())
    for method in service.methods:
        path = f"/{service.full_name}/{method.name}"
        handler: Any = generic.service(SimpleNamespace(method=path, invocation_metadata=()))
        assert handler is not None
        assert handler.unary_unary == method.name
        # Whatever bytes come, reading them does not raise.
        assert handler.request_deserializer(b"\xff\xff\xff") is not None
