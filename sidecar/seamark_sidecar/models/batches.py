"""Which texts are embedded together: those of like length, so that little is padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """The positions of all lengths, in groups whose padded size stays within the budget.

    Args:
        lengths: Tokens of each text.
        budget: Tokens of a group, padding included; a longer text is a group of its own.
    """
    group: list[int] = []
    # Longest first, so that the largest amount of memory is asked for once and then used again.
    for position in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        if group and (len(group) + 1) * lengths[group[0]] > budget:
            yield group
            group = []
        group.append(position)
    if group:
        yield group
