"""An edit taken back: lines put in a few steps ago are replaced or removed again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from seamark.events import ToolReturned
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.edits import Edit, edit_of, is_same, restores, undoes
from seamark_sidecar.observer.behaviour.effects import read_files, touches
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.windows import Window, halve, make_room
from seamark_sidecar.observer.calls.use import CHANGES, Action, ToolUse, Touch
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

WITHIN_STEPS = 20
MOST_FILES = 64
MOST_EDITS = 8
MOST_SEEN = 16
MOST_SIGNALS = 20

# A copy is kept: the old state is only looked at.
_KEPT = re.compile(r"\bstash\b|\bcp\b.{1,200}\.bak\b|\.orig\b")


@dataclass(slots=True)
class _Backtrack:
    path: str
    first_step: int
    step: int
    count: int
    cause: str
    seen: tuple[str, ...]
    is_reverted: bool
    # What was taken out last, when what stood there before was put back.
    restored: Edit | None


class Backtrack:
    """Remembers the last edits of each file by what they put in."""

    def __init__(self) -> None:
        self._edits: dict[str, deque[Edit]] = {}
        self._found: dict[str, _Backtrack] = {}
        self._read: Window[str] = Window(WITHIN_STEPS, MOST_SEEN)
        self._changed: Window[str] = Window(WITHIN_STEPS, MOST_SEEN)
        self._failed_step = -1
        self._scratch = Scratch()

    def see(self, moment: Moment) -> None:
        use, result = moment.use, moment.result
        if use is None or result is None or not isinstance(moment.body, ToolReturned):
            return
        if result.failure is not None or (result.tests is not None and result.tests.failed > 0):
            self._failed_step = moment.step
        if use.reverted and result.failure is None and not _KEPT.search(use.command):
            self._reverted(use.reverted, moment.step)
        if not use.touches:
            return
        self._scratch.see(moment)
        for path in read_files(moment):
            self._read.add(path, moment.step)
        by_path: dict[str, list[Touch]] = {}
        for touch in touches(moment):
            if touch.action in CHANGES and not self._is_draft(touch):
                by_path.setdefault(touch.path, []).append(touch)
        for path, done in by_path.items():
            self._changed_file(path, done, use, moment.step)

    def signals(self) -> Iterable[Signal]:
        found = sorted(self._found.values(), key=lambda each: each.step)
        return [_signal(each) for each in found[:MOST_SIGNALS]]

    def size(self) -> int:
        edits = sum(len(each) for each in self._edits.values())
        return 2000 * edits + 600 * len(self._found)

    def shrink(self) -> None:
        halve(self._edits)
        self._scratch.shrink()

    def _is_draft(self, touch: Touch) -> bool:
        """Whether it is a file of the agent's own, or a new one that still takes shape."""
        if touch.path in self._scratch:
            return True
        return touch.action is Action.WRITE and "/" not in touch.path

    def _changed_file(self, path: str, done: list[Touch], use: ToolUse, step: int) -> None:
        before = self._edits.pop(path, None)
        if before is None:
            make_room(self._edits, MOST_FILES)
            before = deque(maxlen=MOST_EDITS)
        self._edits[path] = before
        edit = edit_of(done, use, step)
        if not self._is_put_in_again(path, edit):
            undone = _undone(before, edit)
            if undone is not None:
                restored = undone if restores(edit, undone) else None
                self._keep(path, undone, step, restored)
        before.append(edit)
        self._changed.add(path, step)

    def _reverted(self, paths: tuple[str, ...], step: int) -> None:
        """Brought back to what version control holds."""
        everything = "." in paths
        for path in list(self._edits) if everything else paths:
            edits = self._edits.get(path, ())
            meant = [edit for edit in edits if not edit.is_probe]
            if meant and step - meant[-1].step <= WITHIN_STEPS:
                self._keep(path, meant[-1], step, meant[-1], is_reverted=True)

    def _keep(
        self,
        path: str,
        undone: Edit,
        step: int,
        restored: Edit | None,
        *,
        is_reverted: bool = False,
    ) -> None:
        found = self._found.get(path)
        seen = tuple(
            file for file, at in self._read.within(step) if at >= undone.step and file != path
        )
        if found is not None:
            found.count += 1
            found.restored = restored
            return
        make_room(self._found, MOST_FILES)
        self._found[path] = _Backtrack(
            path=path,
            first_step=undone.step,
            step=step,
            count=1,
            cause=self._cause(path, undone, step, seen),
            seen=seen,
            is_reverted=is_reverted,
            restored=restored,
        )

    def _is_put_in_again(self, path: str, edit: Edit) -> bool:
        """Whether it had only been taken out to see what happens without it."""
        found = self._found.get(path)
        if found is None or found.restored is None or not is_same(edit, found.restored):
            return False
        found.restored = None
        found.count -= 1
        if not found.count:
            del self._found[path]
        return True

    def _cause(self, path: str, undone: Edit, step: int, seen: tuple[str, ...]) -> str:
        if self._failed_step >= undone.step:
            return "wrong_assumption"
        others = (file for file, at in self._changed.within(step) if at >= undone.step)
        if any(file != path for file in others):
            return "cascading_change"
        return "missing_context" if seen else "unknown"


def _undone(before: Iterable[Edit], edit: Edit) -> Edit | None:
    """The latest of the earlier edits whose lines this one takes out or writes over."""
    for earlier in reversed(list(before)):
        if edit.step - earlier.step > WITHIN_STEPS:
            return None
        if earlier.step != edit.step and undoes(edit, earlier):
            return earlier
    return None


def _signal(found: _Backtrack) -> Signal:
    steps = found.step - found.first_step
    return Signal(
        kind=SignalKind.BACKTRACK,
        step=found.step,
        confidence=round(
            min(0.9, 0.55 + 0.1 * found.count + 0.1 * (found.cause == "wrong_assumption")), 2
        ),
        key=finding_key("backtrack", found.path),
        files=(found.path, *found.seen[:3]),
        details={
            "file": found.path,
            "first_step": found.first_step,
            "steps_between": steps,
            "count": found.count,
            "reverted": found.is_reverted,
            "likely_cause": found.cause,
            "files_seen": found.seen,
        },
        content=_wording(found, steps),
        type=MemoryType.GOTCHA,
    )


_CAUSES = {
    "wrong_assumption": "after a failure showed it to be wrong",
    "cascading_change": "after changes elsewhere",
    "missing_context": "after more was read",
    "unknown": "",
}


def _wording(found: _Backtrack, steps: int) -> str:
    done = "put back" if found.is_reverted else "redone"
    times = f", {found.count} times" if found.count > 1 else ""
    because = f" {_CAUSES[found.cause]}" if _CAUSES[found.cause] else ""
    read = f"; read {', '.join(f'`{file}`' for file in found.seen[:3])} first" if found.seen else ""
    return (
        f"An edit of `{found.path}` was {done} within {max(steps, 1)} steps{times}{because}{read}."
    )
