"""Files that an agent makes for itself: reproductions, one-off edit scripts, checks."""

from __future__ import annotations

from seamark_sidecar.observer.behaviour.effects import touches
from seamark_sidecar.observer.behaviour.file_roles import looks_like_scratch
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment

MOST_FILES = 200


class Scratch:
    """Knows a file by its name, when the session wrote it before it ever read it."""

    __slots__ = ("_first", "_names")

    def __init__(self) -> None:
        # Whether the first touch of a file so named made it.
        self._first: dict[str, bool] = {}
        # The names of those made, without their directories.
        self._names: dict[str, None] = {}

    def __contains__(self, path: str) -> bool:
        return self._first.get(path, False)

    def __len__(self) -> int:
        return len(self._first)

    def has_named(self, name: str) -> bool:
        """Whether one of them, in whichever directory, is called so."""
        return name in self._names

    def see(self, moment: Moment) -> None:
        """Takes the moment into account."""
        for touch in touches(moment):
            if touch.path not in self._first and looks_like_scratch(touch.path):
                make_room(self._first, MOST_FILES)
                is_made = touch.action is Action.WRITE
                self._first[touch.path] = is_made
                if is_made:
                    make_room(self._names, MOST_FILES)
                    self._names[touch.path.rpartition("/")[2]] = None

    def shrink(self) -> None:
        """Forgets the older half."""
        halve(self._first)
        halve(self._names)
