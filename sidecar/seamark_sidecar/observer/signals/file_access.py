"""Files that a session goes to early and stays with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import touches
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.tasks import OTHER, Task
from seamark_sidecar.observer.behaviour.windows import keep_heaviest
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

WEIGHTS = {Action.READ: 1, Action.EDIT: 2, Action.WRITE: 3}
MOST_FILES = 400
MOST_SIGNALS = 12
# First touched within these steps, or this part of the session, is early.
EARLY_STEPS = 10
EARLY_PART = 0.25
LEAST_STEPS = 2
# Sessions that must have found it, when they changed the file.
CHANGED_IN = 2


@dataclass(slots=True)
class _Access:
    first_step: int
    tool: str
    time: float
    last_step: int = -1
    # Different steps in which it was touched.
    steps: int = 0
    reads: int = 0
    edits: int = 0
    writes: int = 0
    weight: int = 0


class FileAccessed:
    """Weighs the touches of each file: a read 1, an edit 2, a write 3."""

    def __init__(self) -> None:
        self._files: dict[str, _Access] = {}
        self._scratch = Scratch()
        self._task = Task()
        self._step = 0

    def see(self, moment: Moment) -> None:
        self._step = moment.step
        if moment.result is None or moment.use is None:
            self._task.see(moment)
            return
        done = touches(moment)
        if not done:
            return
        self._scratch.see(moment)
        for touch in done:
            if touch.path not in self._scratch:
                access = self._files.get(touch.path)
                if access is None:
                    keep_heaviest(self._files, MOST_FILES, _weight)
                    access = self._files[touch.path] = _Access(
                        moment.step, moment.use.tool, moment.time
                    )
                _count(access, touch.action, moment.step)

    def signals(self) -> Iterable[Signal]:
        early = max(EARLY_STEPS, round(EARLY_PART * self._step))
        chosen = [
            item
            for item in self._files.items()
            if item[1].first_step <= early and item[1].steps >= LEAST_STEPS
        ]
        chosen.sort(key=lambda item: -item[1].weight)
        for path, access in sorted(chosen[:MOST_SIGNALS], key=lambda item: item[1].first_step):
            yield self._signal(path, access)

    def size(self) -> int:
        return 300 * len(self._files) + 100 * len(self._scratch)

    def shrink(self) -> None:
        keep_heaviest(self._files, 1, _weight)
        self._scratch.shrink()

    def _signal(self, path: str, access: _Access) -> Signal:
        changes = access.edits + access.writes
        kind = (
            f" for {self._task.kind.replace('_', ' ')} tasks"
            if self._task.kind not in {"", OTHER}
            else ""
        )
        return Signal(
            kind=SignalKind.FILE_ACCESS,
            step=access.first_step,
            confidence=round(min(0.85, 0.4 + 0.05 * access.weight), 2),
            key=finding_key("file_access", path),
            files=(path,),
            details={
                "tool": access.tool,
                "reads": access.reads,
                "edits": access.edits,
                "writes": access.writes,
                "steps": access.steps,
                "last_step": access.last_step,
                "access_weight": access.weight,
                "task_type": self._task.kind,
            },
            # Changes tell more than reads.
            sessions_needed=CHANGED_IN if changes else 0,
            content=f"Agents go to `{path}` early{kind}.",
            type=MemoryType.PREFETCH_PATTERN,
        )


def _count(access: _Access, action: Action, step: int) -> None:
    access.steps += access.last_step != step
    access.last_step = step
    access.reads += action is Action.READ
    access.edits += action is Action.EDIT
    access.writes += action is Action.WRITE
    access.weight += WEIGHTS.get(action, 0)


def _weight(access: _Access) -> float:
    return access.weight
