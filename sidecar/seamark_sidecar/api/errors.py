"""Our errors as gRPC statuses with a reason for programs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import grpc

from seamark.errors import UndecodableMessage
from seamark_sidecar.model import errors

STATUS: Mapping[type[Exception], tuple[grpc.StatusCode, str]] = MappingProxyType({
    errors.UnknownSession:    (grpc.StatusCode.NOT_FOUND,           "UNKNOWN_SESSION"),
    errors.UnknownMemory:     (grpc.StatusCode.NOT_FOUND,           "UNKNOWN_MEMORY"),
    errors.WrongCapability:   (grpc.StatusCode.PERMISSION_DENIED,   "WRONG_CAPABILITY"),
    errors.SessionOwned:      (grpc.StatusCode.PERMISSION_DENIED,   "SESSION_OWNED"),
    errors.SessionClosed:     (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_CLOSED"),
    errors.WireTooNew:        (grpc.StatusCode.FAILED_PRECONDITION, "WIRE_TOO_NEW"),
    errors.WireTooOld:        (grpc.StatusCode.FAILED_PRECONDITION, "WIRE_TOO_OLD"),
    errors.BadRequest:        (grpc.StatusCode.INVALID_ARGUMENT,    "BAD_REQUEST"),
    errors.SecretFound:       (grpc.StatusCode.INVALID_ARGUMENT,    "SECRET_FOUND"),
    UndecodableMessage:       (grpc.StatusCode.INVALID_ARGUMENT,    "UNDECODABLE"),
    errors.StorageFull:       (grpc.StatusCode.UNAVAILABLE,         "STORAGE_FULL"),
    errors.StorageUnwritable: (grpc.StatusCode.UNAVAILABLE,         "STORAGE_UNWRITABLE"),
    errors.DatabaseCorrupt:   (grpc.StatusCode.UNAVAILABLE,         "DATABASE_CORRUPT"),
    errors.WorkerBusy:        (grpc.StatusCode.UNAVAILABLE,         "WORKER_BUSY"),
    errors.WorkerGone:        (grpc.StatusCode.UNAVAILABLE,         "WORKER_GONE"),
    errors.WorkerTooSlow:     (grpc.StatusCode.UNAVAILABLE,         "WORKER_TOO_SLOW"),
    errors.WorkerFault:       (grpc.StatusCode.UNAVAILABLE,         "WORKER_FAULT"),
    errors.SidecarError:      (grpc.StatusCode.FAILED_PRECONDITION, "REFUSED"),
})  # fmt: skip


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """The status and reason of an error of ours; of anything else, that it is a fault."""
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return grpc.StatusCode.INTERNAL, "FAULT"
