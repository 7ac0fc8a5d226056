"""Several rankings made into one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Ranking = Sequence[tuple[str, float]]
RRF_K = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One ranking, best first, with how much it counts; an empty one leaves that to the others."""

    ranking: Ranking
    weight: float
    # The score of what it does not hold; None when it was cut off: then, its lowest score.
    absent: float | None = None


def reciprocal_rank(arms: Sequence[Arm]) -> list[tuple[str, float]]:
    """Weighted reciprocal rank fusion, `w / (60 + rank)`; looks at ranks alone."""
    scores: dict[str, float] = {}
    for arm in arms:
        for rank, (name, _) in enumerate(arm.ranking, 1):
            scores[name] = scores.get(name, 0.0) + arm.weight / (RRF_K + rank)
    return _best_first(scores)


def standard_scores(arms: Sequence[Arm]) -> list[tuple[str, float]]:
    """Weighted sum of scores, each in units of their spread over all that any arm found."""
    heard = [arm for arm in arms if arm.ranking]
    names = {name for arm in heard for name, _ in arm.ranking}
    total = sum(arm.weight for arm in heard) or 1.0
    fused = dict.fromkeys(names, 0.0)
    for arm in heard:
        scores = dict(arm.ranking)
        absent = min(scores.values()) if arm.absent is None else arm.absent
        values = [scores.get(name, absent) for name in names]
        if min(values) == max(values):  # It has no preference.
            continue
        mean = math.fsum(values) / len(values)
        spread = math.sqrt(math.fsum((each - mean) ** 2 for each in values) / len(values))
        for name, value in zip(names, values, strict=True):
            fused[name] += arm.weight / total * (value - mean) / spread
    return _best_first(fused)


def _best_first(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
