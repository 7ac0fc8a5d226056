"""What can go wrong between the SDK and the sidecar; never raised into an agent."""

from __future__ import annotations


class SeamarkError(Exception):
    """Anything that makes a call go without memory."""


class SettingsError(SeamarkError):
    """A setting has a value that cannot be used."""


class SidecarUnavailable(SeamarkError):
    """No sidecar answers at the address, or it must not be trusted."""

    def __init__(self, message: str, *, absent: bool = False) -> None:
        super().__init__(message)
        # Nobody listens there, so that starting one may help.
        self.absent = absent


class LaunchFailed(SeamarkError):
    """A sidecar was to be started and did not come up."""


class SidecarTooSlow(SeamarkError):
    """The deadline passed."""


class ProtocolMismatch(SeamarkError):
    """SDK and sidecar do not speak the same wire version."""


class CallRefused(SeamarkError):
    """The sidecar refused the call; `reason` is its machine-readable name."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class UndecodableMessage(SeamarkError):
    """A message from the other side makes no sense."""
