"""The connection to the sidecar: one channel that serves threads and event loops alike."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

import grpc

from seamark import endpoint
from seamark.calls import Call, Request, Response
from seamark.codec import REASON_KEY, WIRE, WIRE_KEY
from seamark.errors import (
    CallRefused,
    ProtocolMismatch,
    SeamarkError,
    SidecarTooSlow,
    SidecarUnavailable,
)

# With gRPC's own backoff a client comes back seconds after a restarted sidecar.
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
_METADATA: Final = ((WIRE_KEY, str(WIRE)),)
_MISMATCHES: Final = frozenset({"WIRE_TOO_NEW", "WIRE_TOO_OLD"})

# Channels of a parent process: closing them in a forked child would disturb the parent's.
_inherited: list[grpc.Channel] = []


class Link:
    """Makes calls with a deadline; every fault is a SeamarkError."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._methods: dict[str, Any] = {}

    def call(self, call: Call[Request, Response], request: Request, within: float) -> Response:
        """Waits for the answer, at most `within` seconds."""
        method = self._method(call)
        try:
            response: Response = method(request, timeout=within, metadata=_METADATA)
        except grpc.RpcError as error:
            raise _translated(error) from error
        except ValueError as error:  # The channel was closed meanwhile.
            raise SidecarUnavailable(str(error)) from error
        return response

    async def acall(
        self, call: Call[Request, Response], request: Request, within: float
    ) -> Response:
        """The same without blocking the event loop."""
        method = self._method(call)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_finish, waiter)

        try:
            pending = method.future(request, timeout=within, metadata=_METADATA)
            pending.add_done_callback(wake)
        except ValueError as error:
            raise SidecarUnavailable(str(error)) from error
        try:
            await waiter
        except asyncio.CancelledError:
            pending.cancel()
            raise
        try:
            response: Response = pending.result()
        except grpc.RpcError as error:
            raise _translated(error) from error
        except grpc.FutureCancelledError as error:
            raise SidecarUnavailable("the call was cancelled") from error
        return response

    def close(self) -> None:
        """Ends the connection; a later call opens a new one."""
        with self._lock:
            channel, self._channel, self._methods = self._channel, None, {}
        if channel is not None:
            channel.close()

    def after_fork(self) -> None:
        """Starts anew in a forked child without touching what the parent still uses."""
        self._lock = threading.Lock()
        if self._channel is not None:
            _inherited.append(self._channel)
        self._channel = None
        self._methods = {}

    def _method(self, call: Call[Request, Response]) -> Any:
        endpoint.check(self._address)
        try:
            return self._methods[call.path]
        except KeyError:
            pass
        with self._lock:
            if self._channel is None:
                self._channel = grpc.insecure_channel(self._address, options=_OPTIONS)
            method = self._channel.unary_unary(
                call.path,
                request_serializer=call.request.SerializeToString,
                response_deserializer=call.response.FromString,
            )
            self._methods[call.path] = method
            return method


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _translated(error: grpc.RpcError) -> SeamarkError:
    code = error.code() if isinstance(error, grpc.Call) else None
    details = str(error.details() if isinstance(error, grpc.Call) else error)
    reason = _reason(error)
    if reason in _MISMATCHES:
        return ProtocolMismatch(details)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return ProtocolMismatch(f"the sidecar does not know this call: {details}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return SidecarTooSlow("the sidecar did not answer in time")
    if reason:
        return CallRefused(details, reason)
    if code is grpc.StatusCode.UNAVAILABLE:
        return SidecarUnavailable(f"the sidecar does not answer: {details}")
    return SidecarUnavailable(f"the call failed: {code}: {details}")


def _reason(error: grpc.RpcError) -> str:
    if not isinstance(error, grpc.Call):
        return ""
    for key, value in error.trailing_metadata() or ():
        if key == REASON_KEY:
            return value if isinstance(value, str) else value.decode("ascii", "replace")
    return ""
