"""What every call passes on its way in and out: the wire version, and errors as statuses."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
import structlog

from seamark.codec import REASON_KEY, WIRE, WIRE_KEY
from seamark.errors import UndecodableMessage
from seamark_sidecar.api.errors import status_of
from seamark_sidecar.model.errors import BadRequest, SidecarError, WireTooNew, WireTooOld

OLDEST_WIRE = 1
NEWEST_WIRE = WIRE

log = structlog.get_logger("seamark.api")

Servicer = TypeVar("Servicer")
Request = TypeVar("Request")
Response = TypeVar("Response")
Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[Servicer, Request, Context], Awaitable[Response]]


def rpc(handler: Handler[Servicer, Request, Response]) -> Handler[Servicer, Request, Response]:
    """Checks the caller's wire version, and answers errors with a status and a reason."""

    @functools.wraps(handler)
    async def answer(self: Servicer, request: Request, context: Context) -> Response:
        try:
            check_wire(_spoken(context))
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
        await context.abort(code, message)
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
