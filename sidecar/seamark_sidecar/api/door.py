"""What every call passes on its way in and out: wire version, decoding, errors as statuses."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
import structlog
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from seamark.codec import REASON_KEY, WIRE, WIRE_KEY, cut
from seamark.errors import UndecodableMessage
from seamark_sidecar.api.errors import status_of
from seamark_sidecar.model.errors import BadRequest, SidecarError, WireTooNew, WireTooOld

OLDEST_WIRE = 1
NEWEST_WIRE = WIRE
# A status travels in headers, which have little room.
LONGEST_MESSAGE = 1000

log = structlog.get_logger("seamark.api")

Servicer = TypeVar("Servicer")
Request = TypeVar("Request")
Response = TypeVar("Response")
Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[Servicer, Request, Context], Awaitable[Response]]


class _Garbled:
    """Stands for bytes that are no request; gRPC alone would call them a fault of ours."""


_GARBLED = _Garbled()


def handlers(service: ServiceDescriptor, servicer: object) -> grpc.GenericRpcHandler:
    """What a server needs to know of a servicer, with decoding that never fails."""
    return grpc.method_handlers_generic_handler(
        service.full_name,
        {
            method.name: grpc.unary_unary_rpc_method_handler(
                getattr(servicer, method.name),
                request_deserializer=_reader(GetMessageClass(method.input_type)),
                response_serializer=GetMessageClass(method.output_type).SerializeToString,
            )
            for method in service.methods
        },
    )


def _reader(kind: type[Message]) -> Callable[[bytes], Message | _Garbled]:
    def read(raw: bytes) -> Message | _Garbled:
        try:
            return kind.FromString(raw)
        except DecodeError:
            return _GARBLED

    return read


def rpc(handler: Handler[Servicer, Request, Response]) -> Handler[Servicer, Request, Response]:
    """Checks the caller's wire version, and answers errors with a status and a reason."""

    @functools.wraps(handler)
    async def answer(self: Servicer, request: Request, context: Context) -> Response:
        try:
            check_wire(_spoken(context))
            if request is _GARBLED:
                raise UndecodableMessage("the request cannot be read; use the seamark SDK")
            return await handler(self, request, context)
        except (SidecarError, UndecodableMessage) as error:
            code, reason = status_of(error)
            message = str(error)
        except Exception as error:
            log.exception("call_failed", call=handler.__name__)
            code, reason = status_of(error)
            message = f"the sidecar has a fault of its own: {type(error).__name__}"
        log.info("call_refused", call=handler.__name__, reason=reason)
        context.set_trailing_metadata(((REASON_KEY, reason),))
        await context.abort(code, cut(message, LONGEST_MESSAGE))
        raise AssertionError("abort raises")

    return answer


def check_wire(spoken: str | None) -> None:
    """Raises when the caller's version is not one of ours."""
    if spoken is None:
        raise BadRequest(f"the metadata {WIRE_KEY} is missing; use the seamark SDK")
    number = int(spoken) if spoken.isascii() and spoken.isdigit() and len(spoken) < 10 else 0
    if number > NEWEST_WIRE:
        raise WireTooNew(
            f"the SDK speaks wire version {number}, this sidecar up to {NEWEST_WIRE}; "
            "upgrade the sidecar: pip install --upgrade 'seamark[sidecar]', then seamark down"
        )
    if number < OLDEST_WIRE:
        raise WireTooOld(
            f"the SDK speaks wire version {spoken[:20]!r}, this sidecar {OLDEST_WIRE} and newer; "
            "upgrade the SDK: pip install --upgrade seamark"
        )


def _spoken(context: Context) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == WIRE_KEY:
            return value if isinstance(value, str) else value.decode("ascii", "replace")
    return None
