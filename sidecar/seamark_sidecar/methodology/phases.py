"""A methodology's own names of phases, in the terms of all of them."""

from __future__ import annotations

from collections.abc import Mapping

from seamark_sidecar.model.phase import Phase


def phase_in(phases: Mapping[str, Phase], name: str) -> Phase:
    """What the name means; one that nobody knows is exploring."""
    return phases.get(name.strip().lower()) or Phase.named(name) or Phase.EXPLORE
