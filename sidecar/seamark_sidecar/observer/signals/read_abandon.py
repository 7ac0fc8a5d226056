"""Files that were gone back to and never changed, and where the agent went from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.events import ToolCalled
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, read_files
from seamark_sidecar.observer.behaviour.file_roles import is_code
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import keep_heaviest, make_room
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

LEAST_VISITS = 2
MOST_FILES = 300
MOST_AFTER = 4
MOST_SIGNALS = 12
# A file read among the last steps may yet be changed by the next session.
SETTLED_STEPS = 3


@dataclass(slots=True)
class _Visits:
    first_step: int
    last_step: int
    count: int = 1
    reads: int = 1
    seconds: float = 0.0
    # Where the agent went after its last visit.
    after: dict[str, None] = field(default_factory=dict)


class ReadAbandon:
    """Counts visits: reads of a file, page after page, until another file is touched."""

    def __init__(self) -> None:
        self._visits: dict[str, _Visits] = {}
        # Path to the step of its first change.
        self._changed: dict[str, int] = {}
        self._here = ""
        self._came: float | None = None
        # The files left last, whose next stations are still to be seen.
        self._left: list[str] = []
        self._step = 0
        self._task = Task()

    def see(self, moment: Moment) -> None:
        self._step = moment.step
        if moment.result is None:
            if isinstance(moment.body, ToolCalled):
                self._count_time(moment.time)
            self._task.see(moment)
            return
        for path in changed_files(moment):
            if path not in self._changed:
                make_room(self._changed, MOST_FILES)
                self._changed[path] = moment.step
            self._visits.pop(path, None)
            self._went_to(path)
        for path in read_files(moment):
            if path not in self._changed:
                self._read(path, moment)
            self._went_to(path)

    def signals(self) -> Iterable[Signal]:
        abandoned = [
            (path, visits)
            for path, visits in self._visits.items()
            if visits.count >= LEAST_VISITS
            and visits.after
            and self._step - visits.last_step >= SETTLED_STEPS
        ]
        abandoned.sort(key=lambda item: -item[1].count)
        for path, visits in sorted(abandoned[:MOST_SIGNALS], key=lambda item: item[1].last_step):
            yield self._signal(path, visits)

    def size(self) -> int:
        return 600 * len(self._visits) + 150 * len(self._changed)

    def shrink(self) -> None:
        keep_heaviest(self._visits, 1, _count)

    def _read(self, path: str, moment: Moment) -> None:
        visits = self._visits.get(path)
        if visits is None:
            keep_heaviest(self._visits, MOST_FILES, _count)
            self._visits[path] = _Visits(moment.step, moment.step)
        else:
            visits.reads += 1
            if self._here != path and moment.step != visits.last_step:
                visits.count += 1
                visits.after.clear()
            visits.last_step = moment.step
        self._came = moment.time

    def _went_to(self, path: str) -> None:
        if path == self._here:
            return
        if self._here in self._left:
            self._left.remove(self._here)
        if self._here:
            self._left = [self._here, *self._left[: MOST_AFTER - 1]]
        self._here = path
        for left in self._left:
            visits = self._visits.get(left)
            if visits is not None and left != path and len(visits.after) < MOST_AFTER:
                visits.after[path] = None

    def _count_time(self, now: float) -> None:
        visits = self._visits.get(self._here)
        if visits is not None and self._came is not None:
            visits.seconds += max(0.0, now - self._came)
        self._came = None

    def _went(self, path: str, visits: _Visits) -> str:
        """The file of its kind that was changed next; empty when there is none."""
        later = (file for file, step in self._changed.items() if step >= visits.last_step)
        alike = (file for file in (*later, *visits.after) if is_code(file) is is_code(path))
        return next((file for file in alike if file in self._changed), "")

    def _signal(self, path: str, visits: _Visits) -> Signal:
        went = self._went(path, visits)
        return Signal(
            kind=SignalKind.READ_ABANDON,
            step=visits.last_step,
            confidence=round(min(0.8, 0.4 + 0.1 * visits.count), 2),
            key=finding_key("read_abandon", path),
            files=(path, went) if went else (path,),
            details={
                "reads": visits.reads,
                "visits": visits.count,
                "edited": False,
                "read_ms": round(1000 * visits.seconds),
                "files_read_after": tuple(visits.after),
                "went_to": went,
                "task_type": self._task.kind,
            },
            content=f"`{path}` was gone back to {visits.count} times and never changed; "
            f"the change was made in `{went}`."
            if went
            else "",
            type=MemoryType.GOTCHA if went else None,
        )


def _count(visits: _Visits) -> float:
    return visits.count
