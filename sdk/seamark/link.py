"""The connection to the sidecar: one channel that serves threads and event loops alike."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from seamark import endpoint
from seamark.calls import Call, Request, Response
from seamark.codec import REASON_KEY, WIRE, WIRE_KEY
from seamark.errors import (
    CallRefused,
    ProtocolMismatch,
    SeamarkError,
    SidecarTooSlow,
    SidecarUnavailable,
    UndecodableMessage,
)

# With gRPC's own backoff a client comes back seconds after a restarted sidecar.
OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
_METADATA: Final = ((WIRE_KEY, str(WIRE)),)
FORK_WAIT = 0.2  # seconds
CANCEL_WAIT = 0.05
SETTLE_WAIT = 0.1  # gRPC's own threads are busy with a closed channel for a while.
_MISMATCHES: Final = frozenset({"WIRE_TOO_NEW", "WIRE_TOO_OLD"})

# Channels of a parent process: closing them in a forked child would disturb the parent's.
_inherited: list[grpc.Channel] = []


class Link:
    """Makes calls with a deadline; every fault is a SeamarkError."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._channel: grpc.Channel | None = None
        self._methods: dict[str, Any] = {}
        self._closed = False
        self._reset_threading()

    def _reset_threading(self) -> None:
        self._lock = threading.Lock()
        self._quiet = threading.Condition()
        self._under_way = 0
        self._forking = False

    def call(self, call: Call[Request, Response], request: Request, within: float) -> Response:
        """Waits for the answer, at most `within` seconds."""
        endpoint.check(self._address)
        left = self._begin(within)
        try:
            answer = self._method(call)(request, timeout=left, metadata=_METADATA)
        except grpc.RpcError as error:
            raise _translated(error) from error
        except ValueError as error:  # The channel was closed meanwhile.
            raise SidecarUnavailable(str(error)) from error
        finally:
            self._end()
        return _read(call, answer)

    async def acall(
        self, call: Call[Request, Response], request: Request, within: float
    ) -> Response:
        """The same without blocking the event loop."""
        endpoint.check(self._address)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake(_: object) -> None:
            self._end()
            with contextlib.suppress(RuntimeError):  # The loop was closed meanwhile.
                loop.call_soon_threadsafe(_finish, waiter)

        left = self._begin(within)
        try:
            pending = self._method(call).future(request, timeout=left, metadata=_METADATA)
        except BaseException as error:
            self._end()
            if isinstance(error, ValueError):
                raise SidecarUnavailable(str(error)) from error
            raise
        pending.add_done_callback(wake)
        try:
            await waiter
        except asyncio.CancelledError:
            pending.cancel()
            raise
        try:
            answer = pending.result()
        except grpc.RpcError as error:
            raise _translated(error) from error
        except grpc.FutureCancelledError as error:
            raise SidecarUnavailable("the call was cancelled") from error
        return _read(call, answer)

    def reconnect(self) -> None:
        """Forgets a connection that was lost: gRPC itself would wait before it tries again."""
        with self._quiet:
            if self._under_way or self._forking:  # It may have a connection.
                return
            self._under_way += 1
        try:
            self._disconnect()
        finally:
            self._end()

    def close(self) -> None:
        """Ends the connection for good."""
        self._closed = True
        self._disconnect()

    def hold(self, until: float) -> None:
        """Brings calls to an end before a fork and keeps new ones back until `release`.

        A child that is forked while another thread is inside gRPC may hang there for ever.
        """
        with self._quiet:
            self._forking = True
            if self._wait_for_quiet(until - time.monotonic()):
                return
        self._disconnect()  # Calls off what takes too long; events will be sent again.
        with self._quiet:
            self._wait_for_quiet(CANCEL_WAIT)
        time.sleep(SETTLE_WAIT)

    def release(self) -> None:
        """The fork is over."""
        with self._quiet:
            self._forking = False
            self._quiet.notify_all()

    def after_fork(self) -> None:
        """Starts anew in a forked child without touching what the parent still uses."""
        self._reset_threading()
        if self._channel is not None:
            _inherited.append(self._channel)
        self._channel = None
        self._methods = {}

    def _begin(self, within: float) -> float:
        """A call may be made; returns what is left of its time after a fork."""
        end = time.monotonic() + within
        with self._quiet:
            if not self._quiet.wait_for(lambda: not self._forking, within):
                raise SidecarTooSlow("the process was being forked")
            self._under_way += 1
        return end - time.monotonic()

    def _end(self) -> None:
        with self._quiet:
            self._under_way -= 1
            self._quiet.notify_all()

    def _wait_for_quiet(self, seconds: float) -> bool:
        return self._quiet.wait_for(lambda: not self._under_way, max(0.0, seconds))

    def _disconnect(self) -> None:
        with self._lock:
            channel, self._channel, self._methods = self._channel, None, {}
        if channel is not None:
            channel.close()

    def _method(self, call: Call[Request, Response]) -> Any:
        try:
            return self._methods[call.path]
        except KeyError:
            pass
        with self._lock:
            if self._closed:
                raise SidecarUnavailable("the client was closed")
            if self._channel is None:
                self._channel = grpc.insecure_channel(self._address, options=OPTIONS)
            # Answers are read here: gRPC would log a traceback for each that makes no sense.
            method: Any = self._channel.unary_unary(
                call.path, request_serializer=call.request.SerializeToString
            )
            self._methods[call.path] = method
            return method


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _read(call: Call[Request, Response], answer: bytes) -> Response:
    try:
        return call.response.FromString(answer)
    except DecodeError as error:
        raise UndecodableMessage(f"the sidecar's answer makes no sense: {error}") from error


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
    if code is grpc.StatusCode.UNAVAILABLE and reason:  # It answers, and may do better later.
        return SidecarUnavailable(details)
    # A server that stops calls off what it has not begun.
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED) and not reason:
        return SidecarUnavailable(f"the sidecar does not answer: {details}", absent=True)
    if reason:
        return CallRefused(details, reason)
    return SidecarUnavailable(f"the call failed: {code}: {details}")


def _reason(error: grpc.RpcError) -> str:
    if not isinstance(error, grpc.Call):
        return ""
    for key, value in error.trailing_metadata() or ():
        if key == REASON_KEY:
            return value if isinstance(value, str) else value.decode("ascii", "replace")
    return ""
