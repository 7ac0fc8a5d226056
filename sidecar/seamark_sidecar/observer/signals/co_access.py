"""Files that are touched together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, read_files
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import Window, keep_heaviest
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

WINDOW_STEPS = 5
# Files looked back at from a touch.
MOST_NEAR = 8
# A call that touches more than this many files sweeps over them.
MOST_AT_ONCE = 6
MOST_PAIRS = 600
MOST_SIGNALS = 40


@dataclass(slots=True)
class _Pair:
    first_step: int
    count: int = 0
    # How often the name that sorts first was touched first.
    forward: int = 0
    step_delta: int = WINDOW_STEPS
    time_delta: float = 0.0
    last_step: int = -1
    changes: int = 0

    @property
    def weight(self) -> float:
        return self.count + 3 * self.changes


class CoAccess:
    """Counts, for each touch of a file, the others touched within the last steps."""

    def __init__(self) -> None:
        self._near: Window[str] = Window(WINDOW_STEPS, MOST_NEAR)
        self._times: dict[str, float] = {}
        self._pairs: dict[tuple[str, str], _Pair] = {}
        self._changed: dict[str, int] = {}
        self._scratch = Scratch()
        self._task = Task()

    def see(self, moment: Moment) -> None:
        if moment.result is None:
            self._task.see(moment)
            return
        read, changed = read_files(moment), changed_files(moment)
        if not read and not changed:
            return
        self._scratch.see(moment)
        files = [path for path in dict.fromkeys((*read, *changed)) if path not in self._scratch]
        if not files or len(files) > MOST_AT_ONCE:
            return
        for path in files:
            self._touched(path, moment, is_change=path in changed)

    def signals(self) -> Iterable[Signal]:
        heaviest = sorted(self._pairs.items(), key=lambda item: -item[1].weight)[:MOST_SIGNALS]
        for names, pair in sorted(heaviest, key=lambda item: item[1].first_step):
            yield self._signal(names, pair)

    def size(self) -> int:
        return 500 * len(self._pairs) + 200 * (len(self._changed) + len(self._scratch))

    def shrink(self) -> None:
        keep_heaviest(self._pairs, 1, _weight)
        self._scratch.shrink()

    def _touched(self, path: str, moment: Moment, *, is_change: bool) -> None:
        for other, step in self._near.within(moment.step):
            if other == path:
                continue
            names = (other, path) if other < path else (path, other)
            pair = self._pairs.get(names)
            if pair is None:
                keep_heaviest(self._pairs, MOST_PAIRS, _weight)
                pair = self._pairs[names] = _Pair(moment.step)
            if pair.last_step == moment.step:
                continue
            pair.last_step = moment.step
            pair.count += 1
            pair.forward += names[0] == other
            pair.step_delta = min(pair.step_delta, moment.step - step)
            pair.time_delta = max(0.0, moment.time - self._times.get(other, moment.time))
            changed_at = self._changed.get(other, -WINDOW_STEPS - 1)
            pair.changes += is_change and moment.step - changed_at <= WINDOW_STEPS
        self._near.add(path, moment.step)
        self._note(self._times, path, moment.time)
        if is_change:
            self._note(self._changed, path, moment.step)

    @staticmethod
    def _note(table: dict[str, float] | dict[str, int], path: str, value: float) -> None:
        table.pop(path, None)
        if len(table) >= 4 * MOST_NEAR:
            del table[next(iter(table))]
        table[path] = value  # type: ignore[assignment]

    def _signal(self, names: tuple[str, str], pair: _Pair) -> Signal:
        share = pair.forward / pair.count
        first, second = names if share >= 0.5 else (names[1], names[0])
        is_directed = pair.count >= 2 and max(share, 1 - share) == 1
        telling = pair.changes > 0 or pair.count >= 3
        return Signal(
            kind=SignalKind.CO_ACCESS,
            step=pair.first_step,
            confidence=round(min(0.9, 0.4 + 0.05 * pair.count + 0.15 * min(pair.changes, 2)), 2),
            key=finding_key("co_access", " ".join(names)),
            files=(first, second),
            details={
                "count": pair.count,
                "directional": is_directed,
                "first": first,
                "then": second,
                "step_delta": pair.step_delta,
                "time_delta_ms": round(1000 * pair.time_delta),
                "changed_together": pair.changes,
                "task_types": (self._task.kind,) if self._task.kind else (),
            },
            content=_wording(first, second, pair, is_directed=is_directed) if telling else "",
            type=(MemoryType.CAUSAL_DEPENDENCY if pair.changes else MemoryType.PREFETCH_PATTERN)
            if telling
            else None,
        )


def _weight(pair: _Pair) -> float:
    return pair.weight


def _wording(first: str, second: str, pair: _Pair, *, is_directed: bool) -> str:
    if pair.changes:
        return (
            f"`{first}` and `{second}` were changed together, within "
            f"{max(1, pair.step_delta)} step{'s' if pair.step_delta > 1 else ''} of each other; "
            "a change of one may need a change of the other."
        )
    order = (
        f"`{second}` was needed right after `{first}`"
        if is_directed
        else (f"`{first}` and `{second}` were needed together")
    )
    return f"{order}, {pair.count} times in one session."
