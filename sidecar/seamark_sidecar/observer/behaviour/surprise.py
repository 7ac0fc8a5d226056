"""How much what just happened contradicts what one would have expected."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from seamark.events import UserSaid
from seamark_sidecar.observer.behaviour.windows import Window
from seamark_sidecar.observer.calls.use import CHANGES, COMMANDS, Action
from seamark_sidecar.observer.moment import Moment

# Steps after which it is forgotten.
LASTS = 3
# A file edited again within so many steps, after a failure, is gone back to.
BACKTRACK_STEPS = 20
MOST_EDITED = 50
LONGEST_REMARK = 1_500
_SEARCHES = frozenset({Action.SEARCH_TEXT, Action.SEARCH_FILES})


class Cause(Enum):
    """What can be surprising."""

    FAILURE = "failure"
    FAILED_SEARCH = "failed search"
    BACKTRACK = "backtrack"
    PERSON = "a person spoke"


WEIGHTS: Mapping[Cause, float] = MappingProxyType({
    Cause.FAILURE: 0.5,
    Cause.PERSON: 0.4,
    Cause.FAILED_SEARCH: 0.3,
    Cause.BACKTRACK: 0.3,
})  # fmt: skip


class Surprise:
    """Remembers at which step something surprising last happened."""

    def __init__(self) -> None:
        # Whether the agent has changed what was there before.
        self.has_edited = False
        self._last: dict[Cause, int] = {}
        self._edited: Window[str] = Window(BACKTRACK_STEPS, MOST_EDITED)

    def see(self, moment: Moment) -> None:
        """Takes the moment into account."""
        if isinstance(moment.body, UserSaid):
            # The task itself corrects nobody, and neither does what is pasted or handed over.
            if moment.step > 0 and len(moment.body.text) <= LONGEST_REMARK:
                self._last[Cause.PERSON] = moment.step
            return
        use, result = moment.use, moment.result
        if use is None or result is None:
            return
        if use.action in _SEARCHES:
            if result.match_count == 0:
                self._last[Cause.FAILED_SEARCH] = moment.step
        elif result.failed or (result.tests is not None and result.tests.failed > 0):
            if use.action in COMMANDS or use.action in CHANGES:
                self._last[Cause.FAILURE] = moment.step
        elif use.changed:
            # What was only written anew may be a script that tries something out.
            self.has_edited |= any(touch.action is Action.EDIT for touch in use.touches)
            self._edit(use.changed, moment.step)

    def at(self, step: int) -> float:
        """From 0 to 1; recent causes add up, each less than the one before."""
        calm = 1.0
        for cause, last in self._last.items():
            if step - last <= LASTS:
                calm *= 1 - WEIGHTS[cause]
        return 1 - calm

    def lately(self, cause: Cause, step: int, within: int = LASTS) -> bool:
        """Whether it happened within the last steps."""
        last = self._last.get(cause)
        return last is not None and step - last <= within

    def _edit(self, paths: tuple[str, ...], step: int) -> None:
        failed = self._last.get(Cause.FAILURE, -1)
        for path, last in self._edited.within(step):
            if path in paths and last <= failed:
                self._last[Cause.BACKTRACK] = step
        for path in paths:
            self._edited.add(path, step)
