"""Tables and windows that do not grow with the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def make_room(table: dict[Key, Value], most: int) -> None:
    """Drops the oldest entries of a full table, several at once, so that it is rarely done."""
    if len(table) >= most:
        for key in list(islice(table, max(1, most // 8))):
            del table[key]


def keep_heaviest(table: dict[Key, Value], most: int, weight: Callable[[Value], float]) -> None:
    """Drops the lighter half of a full table; among equals, the older ones."""
    if len(table) >= most:
        by_weight = sorted(table, key=lambda key: weight(table[key]))
        for key in by_weight[: max(1, len(table) // 2)]:
            del table[key]


def halve(table: dict[Key, Value]) -> None:
    """Drops the older half."""
    for key in list(islice(table, (len(table) + 1) // 2)):
        del table[key]


class Window(Generic[Value]):
    """What happened within the last steps, each thing once, at its latest step."""

    __slots__ = ("_last", "_most", "_steps")

    def __init__(self, steps: int, most: int) -> None:
        self._steps = steps
        self._most = most
        self._last: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._last)

    def add(self, item: Value, step: int) -> None:
        """Notes that it happened."""
        self._last.pop(item, None)
        if len(self._last) >= self._most:
            del self._last[next(iter(self._last))]
        self._last[item] = step

    def within(self, step: int) -> Iterator[tuple[Value, int]]:
        """Each thing of the window's steps before this one, with its step, newest first."""
        for item, last in reversed(self._last.items()):
            if step - last > self._steps:
                return
            yield item, last

    def items(self, step: int) -> tuple[Value, ...]:
        """The things of the window, newest first."""
        return tuple(item for item, _ in self.within(step))
