"""How far a candidate may be trusted, by where its words come from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_sidecar.model.candidate import Candidate

# Of the confidence it would have had otherwise.
CONTAMINATED = 0.7


@dataclass(frozen=True, slots=True)
class Trust:
    """What the gate says of a candidate."""

    # Multiplies its confidence.
    factor: float = 1.0
    # A person has to approve it before the system shows it to an agent unasked.
    needs_review: bool = False
    # Agents that read the same may have found the same: they do not count as several.
    counts_quorum: bool = True


def trust(candidate: Candidate) -> Trust:
    """Full trust, unless the candidate is contaminated."""
    if not candidate.contaminated_by:
        return Trust(needs_review=candidate.needs_review)
    return Trust(factor=CONTAMINATED, needs_review=True, counts_quorum=False)
