"""What was looked up outside the project before a change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, returned_use
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.windows import halve, make_room
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key, one_line

WITHIN_STEPS = 10
MOST_OPEN = 8
MOST_FOUND = 40
LONGEST_REFERENCE = 200


@dataclass(frozen=True, slots=True)
class _Lookup:
    tool: str
    reference: str
    step: int


@dataclass(slots=True)
class _Used:
    lookup: _Lookup
    file: str
    step: int
    count: int = 1


class ExternalReference:
    """Joins a look-up on the web with the first change of the project after it."""

    def __init__(self) -> None:
        self._open: dict[str, _Lookup] = {}
        self._used: dict[str, _Used] = {}
        self._scratch = Scratch()

    def see(self, moment: Moment) -> None:
        use = returned_use(moment)
        if use is None or moment.result is None:
            return
        if use.action is Action.WEB and use.reference and moment.result.failure is None:
            reference = one_line(use.reference)[:LONGEST_REFERENCE]
            make_room(self._open, MOST_OPEN)
            self._open[reference] = _Lookup(use.tool, reference, moment.step)
            if reference in self._used:
                self._used[reference].count += 1
        self._scratch.see(moment)
        if self._open and use.touches:
            files = [path for path in changed_files(moment) if path not in self._scratch]
            if files:
                self._changed(files[0], moment.step)

    def signals(self) -> Iterable[Signal]:
        return [_signal(used) for used in self._used.values()]

    def size(self) -> int:
        return 400 * len(self._used) + 100 * len(self._scratch)

    def shrink(self) -> None:
        halve(self._used)
        self._scratch.shrink()

    def _changed(self, file: str, step: int) -> None:
        for reference, lookup in self._open.items():
            if step - lookup.step <= WITHIN_STEPS and reference not in self._used:
                make_room(self._used, MOST_FOUND)
                self._used[reference] = _Used(lookup, file, step)
        self._open.clear()


def _signal(used: _Used) -> Signal:
    reference = used.lookup.reference
    is_address = "://" in reference
    return Signal(
        kind=SignalKind.EXTERNAL_REFERENCE,
        step=used.step,
        confidence=0.6,
        key=finding_key("external_reference", reference),
        files=(used.file,),
        details={
            "tool": used.lookup.tool,
            "query": "" if is_address else reference,
            "url": reference if is_address else "",
            "looked_up_step": used.lookup.step,
            "steps_to_edit": used.step - used.lookup.step,
            "resulted_in_edit": True,
            "edited_file": used.file,
            "count": used.count,
        },
        content=f"`{reference}` was looked up outside the project before "
        f"`{used.file}` was changed.",
        type=MemoryType.MODULE_INSIGHT,
    )
