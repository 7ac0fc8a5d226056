"""Listings whose files are hardly looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import returned_use, touches
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

# Fewer are taken in at a glance.
LEAST_RESULTS = 10
MOST_RESULTS = 300
LEAST_IGNORED = 0.9
# Steps in which what was found is looked at, or is not.
ATTENTION_STEPS = 20
MOST_OPEN = 8
MOST_KEPT = 40
MOST_SIGNALS = 10


@dataclass(slots=True)
class _Listing:
    pattern: str
    step: int
    count: int
    found: frozenset[str]
    looked_at: dict[str, None] = field(default_factory=dict)
    # What the agent searched for next.
    instead: str = ""

    @property
    def ignored(self) -> float:
        return 1 - len(self.looked_at) / max(1, self.count)


class GlobIgnore:
    """Follows each listing by pattern for some steps, and counts which of its files are touched."""

    def __init__(self) -> None:
        self._open: dict[str, _Listing] = {}
        self._closed: dict[str, _Listing] = {}
        self._step = 0
        self._task = Task()

    def see(self, moment: Moment) -> None:
        self._step = moment.step
        use = returned_use(moment)
        if use is None or moment.result is None:
            self._task.see(moment)
            return
        if self._open:
            self._look(moment)
        if use.action is not Action.SEARCH_FILES:
            return
        pattern = " ".join(use.patterns[:3])[:200]
        for listing in self._open.values():
            listing.instead = listing.instead or (pattern if pattern != listing.pattern else "")
        found = moment.result.found[:MOST_RESULTS]
        if pattern and len(found) >= LEAST_RESULTS and pattern not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._close(next(iter(self._open)))
            count = max(len(found), moment.result.match_count)
            self._open[pattern] = _Listing(pattern, moment.step, count, frozenset(found))

    def signals(self) -> Iterable[Signal]:
        # What is listed at the very end has had no time to be read.
        over = [
            each
            for each in (*self._closed.values(), *self._open.values())
            if each.ignored > LEAST_IGNORED and self._step - each.step >= ATTENTION_STEPS // 2
        ]
        over.sort(key=lambda each: each.step)
        return [self._signal(each) for each in over[:MOST_SIGNALS]]

    def size(self) -> int:
        return 40_000 * len(self._open) + 400 * len(self._closed)

    def shrink(self) -> None:
        halve(self._open)
        halve(self._closed)

    def _look(self, moment: Moment) -> None:
        first = next(iter(self._open))
        if moment.step - self._open[first].step > ATTENTION_STEPS:
            self._close(first)
        for touch in touches(moment):
            for listing in self._open.values():
                if touch.path in listing.found:
                    listing.looked_at[touch.path] = None

    def _close(self, pattern: str) -> None:
        listing = self._open.pop(pattern)
        listing.found = frozenset()
        make_room(self._closed, MOST_KEPT)
        self._closed[pattern] = listing

    def _signal(self, listing: _Listing) -> Signal:
        instead = f"; `{listing.instead}` was tried next" if listing.instead else ""
        return Signal(
            kind=SignalKind.GLOB_IGNORE,
            step=listing.step,
            confidence=0.6,
            key=finding_key("glob_ignore", listing.pattern),
            files=tuple(listing.looked_at)[:4],
            details={
                "pattern": listing.pattern,
                "results_returned": listing.count,
                "files_read": len(listing.looked_at),
                "ignored_fraction": round(listing.ignored, 3),
                "instead": listing.instead,
                "task_type": self._task.kind,
            },
            content=f"Listing `{listing.pattern}` returns {listing.count} files of which agents "
            f"look at {len(listing.looked_at) or 'none'}{instead}.",
            type=MemoryType.GOTCHA,
        )
