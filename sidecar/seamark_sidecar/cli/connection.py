"""The way from a command to the running sidecar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import grpc
from grpc_health.v1 import health_pb2

from seamark import endpoint
from seamark.codec import REASON_KEY, WIRE, WIRE_KEY
from seamark.errors import SidecarUnavailable
from seamark.wire.v1.operator_pb2_grpc import OperatorServiceStub
from seamark.wire.v1.sidecar_pb2_grpc import SidecarServiceStub
from seamark_sidecar.cli.failure import CommandFailed, reason_of
from seamark_sidecar.lock import read_holder
from seamark_sidecar.settings import Settings

DEADLINE = 10.0  # seconds

_METADATA = ((WIRE_KEY, str(WIRE)),)
_OPTIONS = (
    # A list of long memories is larger than gRPC's default of 4 MB.
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
    ("grpc.enable_http_proxy", 0),
)
_REASONS = {
    grpc.StatusCode.UNAVAILABLE: "SIDECAR_UNAVAILABLE",
    grpc.StatusCode.DEADLINE_EXCEEDED: "SIDECAR_TOO_SLOW",
    grpc.StatusCode.UNIMPLEMENTED: "OTHER_VERSION",
}

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Connection:
    """Stubs of the running sidecar, and the one way to call them."""

    settings: Settings
    sidecar: SidecarServiceStub
    operator: OperatorServiceStub

    def call(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Answer],
        request: Request,
        within: float = DEADLINE,
    ) -> Answer:
        """The sidecar's answer; raises CommandFailed with its reason, or why there is none."""
        try:
            return method(request, timeout=within, metadata=_METADATA)
        except grpc.RpcError as error:
            raise _failure(error, self.settings, within) from error


@contextmanager
def connect(settings: Settings) -> Iterator[Connection]:
    """Opens a channel to the sidecar once its socket has proved to be this user's alone."""
    try:
        endpoint.check(settings.address)
    except SidecarUnavailable as error:
        elsewhere = _listens_elsewhere(settings)
        raise CommandFailed(reason_of(error), elsewhere or str(error)) from error
    with grpc.insecure_channel(settings.address, options=_OPTIONS) as channel:
        yield Connection(settings, SidecarServiceStub(channel), OperatorServiceStub(channel))


def is_serving(settings: Settings, deadline: float) -> bool:
    """Whether a sidecar answers at the address and says that it is well."""
    try:
        endpoint.check(settings.address)
    except SidecarUnavailable:
        return False
    with grpc.insecure_channel(settings.address, options=_OPTIONS) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = check(health_pb2.HealthCheckRequest(), timeout=deadline, metadata=_METADATA)
        except grpc.RpcError:
            return False
    return answer.status == health_pb2.HealthCheckResponse.SERVING


def _failure(error: grpc.RpcError, settings: Settings, within: float) -> CommandFailed:
    # Every error of a finished call is also that call.
    assert isinstance(error, grpc.Call)
    code = error.code()
    for key, value in error.trailing_metadata() or ():
        if key == REASON_KEY:
            return CommandFailed(str(value), error.details() or f"the sidecar refused: {value}")
    match code:
        case grpc.StatusCode.UNAVAILABLE:
            message = _listens_elsewhere(settings) or (
                f"no sidecar answers at {settings.address}; start it: seamark up -d"
            )
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            message = (
                f"the sidecar at {settings.address} did not answer within {within:g} s; "
                "if it hangs, stop it: seamark down --force"
            )
        case grpc.StatusCode.UNIMPLEMENTED:
            message = (
                "the running sidecar is of another version and does not know this call; "
                "restart it: seamark down; seamark up -d"
            )
        case _:
            message = f"the sidecar failed: {error.details() or code.name}"
    return CommandFailed(_REASONS.get(code, code.name), message)


def _listens_elsewhere(settings: Settings) -> str:
    holder = read_holder(settings.data_dir)
    if holder is None or holder.address in {"", settings.address}:
        return ""
    return (
        f"the sidecar of {settings.data_dir} (pid {holder.pid}) listens at {holder.address}; "
        f"set SEAMARK_ADDRESS={holder.address}"
    )
