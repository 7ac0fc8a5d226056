"""What can be wrong with a model; each message is a sentence that says what to do."""

from __future__ import annotations

from seamark_sidecar.model.errors import SidecarError


class UnknownModel(SidecarError):
    """No model has this name."""


class ModelUnavailable(SidecarError):
    """A model cannot be had from any of its sources."""


class WeightsRefused(SidecarError):
    """What a source delivered is not the model that it was said to be."""


class ModelBroken(SidecarError):
    """A model's directory does not hold what its manifest says."""


class ConversionFailed(SidecarError):
    """A model was fetched but could not be converted."""
