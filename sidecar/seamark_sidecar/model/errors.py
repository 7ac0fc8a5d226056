"""The rules of ours that can be broken; each message is a sentence that says what to do."""

from __future__ import annotations


class SidecarError(Exception):
    """Base of everything the sidecar refuses or cannot do."""


class DatabaseCorrupt(SidecarError):
    """A database file is damaged."""


class DatabaseTooNew(SidecarError):
    """A database was written by a newer version."""


class StorageFull(SidecarError):
    """The disk or the quota has no room for a write."""


class StorageUnwritable(SidecarError):
    """The data directory or a file in it cannot be used."""


class AlreadyRunning(SidecarError):
    """Another sidecar holds the data directory."""


class UnknownSession(SidecarError):
    """No session has this id."""


class WrongCapability(SidecarError):
    """The caller does not hold the session's capability."""


class SessionClosed(SidecarError):
    """The session has ended."""


class SessionOwned(SidecarError):
    """The session belongs to somebody else."""


class BadRequest(SidecarError):
    """A request makes no sense as it stands."""


class UnknownMemory(SidecarError):
    """No memory has this id."""


class SecretFound(SidecarError):
    """A text that was to be stored holds a secret."""


class WireTooNew(SidecarError):
    """The caller speaks a newer wire version."""


class WireTooOld(SidecarError):
    """The caller speaks an older wire version."""


class WorkerBusy(SidecarError):
    """A worker has as many requests as it may have."""


class WorkerGone(SidecarError):
    """A worker is not running, or died before it answered."""


class WorkerTooSlow(SidecarError):
    """A worker did not answer in time."""


class WorkerFault(SidecarError):
    """A worker answered with an error."""
