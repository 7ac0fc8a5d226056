"""Whether tests come before or after the first change of code."""

from __future__ import annotations

from collections.abc import Iterable

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.behaviour.effects import changed_files, read_files, returned_use
from seamark_sidecar.observer.behaviour.file_roles import is_code, is_test
from seamark_sidecar.observer.behaviour.scratch import Scratch
from seamark_sidecar.observer.behaviour.tasks import Task
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.text.wording import finding_key


class OrderOfTests:
    """Keeps the first of each: test read, test written, test run, code changed."""

    def __init__(self) -> None:
        self._read: tuple[str, int] | None = None
        self._wrote: tuple[str, int] | None = None
        self._ran: tuple[str, int] | None = None
        self._changed: tuple[str, int] | None = None
        self._runs_before = 0
        self._runs_after = 0
        self._scratch = Scratch()
        self._task = Task()

    def see(self, moment: Moment) -> None:
        use = returned_use(moment)
        if use is None:
            self._task.see(moment)
            return
        self._scratch.see(moment)
        if self._read is None:
            self._read = self._first_test(read_files(moment), moment.step)
        changed = changed_files(moment)
        if self._wrote is None:
            self._wrote = self._first_test(changed, moment.step)
        if self._changed is None:
            for path in changed:
                if is_code(path) and not is_test(path) and path not in self._scratch:
                    self._changed = (path, moment.step)
                    break
        if use.action is Action.TEST:
            if self._ran is None:
                self._ran = (use.runner, moment.step)
            if self._changed is None:
                self._runs_before += 1
            else:
                self._runs_after += 1

    def signals(self) -> Iterable[Signal]:
        test = self._ran or self._read or self._wrote
        if self._changed is None or test is None:
            return
        file, step = self._changed
        read_first = self._read is not None and self._read[1] < step
        wrote_first = self._wrote is not None and self._wrote[1] < step
        ran_first = self._runs_before > 0
        runner = self._ran[0] if self._ran else ""
        test_file = self._read or self._wrote
        order = "before" if ran_first or read_first or wrote_first else "after"
        yield Signal(
            kind=SignalKind.TEST_ORDER,
            step=max(step, test[1]),
            confidence=0.8 if self._ran else 0.6,
            key=finding_key("test_order", f"{order} {runner} {ran_first}"),
            files=(test_file[0], file) if test_file else (file,),
            details={
                "test_file": test_file[0] if test_file else "",
                "implementation_file": file,
                "runner": runner,
                "test_read_before": read_first,
                "test_written_before": wrote_first,
                "test_run_before": ran_first,
                "runs_before": self._runs_before,
                "runs_after": self._runs_after,
                "first_edit_step": step,
                "first_test_step": test[1],
                "task_type": self._task.kind,
            },
            content=_wording(runner, read=read_first or wrote_first, ran=ran_first)
            if runner
            else "",
            type=MemoryType.TASK_CALIBRATION if runner else None,
        )

    def size(self) -> int:
        return 1000 + 100 * len(self._scratch)

    def shrink(self) -> None:
        self._scratch.shrink()

    def _first_test(self, files: tuple[str, ...], step: int) -> tuple[str, int] | None:
        for path in files:
            if is_test(path) and path not in self._scratch:
                return path, step
        return None


def _wording(runner: str, *, read: bool, ran: bool) -> str:
    if ran:
        return f"Agents run the tests with `{runner}` before their first change here."
    if read:
        return f"Agents read the tests before their first change and run `{runner}` after it."
    return f"Agents look at the tests only after their first change here, with `{runner}`."
