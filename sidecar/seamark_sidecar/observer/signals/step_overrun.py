"""A session that takes far more steps than were planned for it."""

from __future__ import annotations

from collections.abc import Iterable

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, returned_use
from seamark_sidecar.observer.behaviour.file_roles import module_of
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.behaviour.windows import keep_heaviest
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key

OVERRUN = 1.2
MOST_MODULES = 64


class StepOverrun:
    """Compares the steps taken with the steps planned; without a plan it finds nothing.

    A list of things to do is no plan in steps: one of them may take one step or thirty.
    """

    def __init__(self) -> None:
        self._planned = 0
        self._step = 0
        self._modules: dict[str, int] = {}
        self._task = Task()
        self._is_green = False

    def see(self, moment: Moment) -> None:
        self._step = moment.step
        self._planned = moment.planned_steps
        if not self._planned:
            return
        self._task.see(moment)
        for path in changed_files(moment):
            module = module_of(path)
            if module not in self._modules:
                keep_heaviest(self._modules, MOST_MODULES, float)
            self._modules[module] = self._modules.get(module, 0) + 1
        use = returned_use(moment)
        if use is not None and moment.result is not None and use.action is Action.TEST:
            tests = moment.result.tests
            self._is_green = moment.result.failure is None and (tests is None or tests.failed <= 0)

    def signals(self) -> Iterable[Signal]:
        if not self._planned or self._step <= OVERRUN * self._planned:
            return
        ratio = self._step / self._planned
        module = max(self._modules, key=lambda name: self._modules[name], default="")
        kind = self._task.kind.replace("_", " ") or "such"
        where = f" in `{module}`" if module else ""
        yield Signal(
            kind=SignalKind.STEP_OVERRUN,
            step=self._step,
            confidence=0.8,
            key=finding_key("step_overrun", f"{module} {self._task.kind}"),
            files=(),
            details={
                "planned_steps": self._planned,
                "actual_steps": self._step,
                "overrun_ratio": round(ratio, 2),
                "module": module,
                "task_type": self._task.kind,
                "succeeded": self._is_green,
            },
            content=f"{kind.capitalize()} tasks{where} take {ratio:.1f} times the steps planned "
            f"({self._step} instead of {self._planned}).",
            type=MemoryType.TASK_CALIBRATION,
        )

    def size(self) -> int:
        return 100 * len(self._modules)

    def shrink(self) -> None:
        keep_heaviest(self._modules, 1, float)
