"""The same error again and again, and what ended it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.signal import Signal, SignalKind
from seamark_sidecar.observer.errors import Failure
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.use import CHANGES, COMMANDS
from seamark_sidecar.observer.wording import finding_key, one_line

MOST_ERRORS = 200


@dataclass(slots=True)
class _Trouble:
    error: str
    first_step: int
    count: int = 0
    # What failed with it, in the order of first failure.
    commands: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    # The last done since it was last seen.
    edit: str = ""
    run: str = ""
    is_over: bool = False
    ended_by: str = ""

    def seen_again(self, command: str, files: Iterable[str]) -> None:
        self.count += 1
        self.commands[command] = None
        self.files.update(dict.fromkeys(files))
        self.edit = self.run = self.ended_by = ""
        self.is_over = False

    def passed(self) -> None:
        self.is_over = True
        # Between the edit that helped and the run that proves it, agents look around.
        self.ended_by = self.edit or self.run


class ErrorRetry:
    """Counts errors by fingerprint and keeps what stood between the last one and a success."""

    def __init__(self) -> None:
        self._troubles: dict[str, _Trouble] = {}

    def see(self, moment: Moment) -> None:
        use, result = moment.use, moment.result
        if use is None or result is None:
            return
        if use.action in CHANGES and not result.failed:
            self._edited(use.files)
        if use.action in COMMANDS:
            if result.failure is None:
                self._passed(use.command)
            elif result.failure.error:
                self._failed(result.failure, use.command, moment)

    def signals(self) -> Iterable[Signal]:
        for print_, trouble in self._troubles.items():
            if trouble.count >= 2:
                yield Signal(
                    kind=SignalKind.ERROR_RETRY,
                    confidence=0.9,
                    type=MemoryType.ERROR_PATTERN,
                    content=_wording(trouble),
                    key=finding_key("error_retry", print_),
                    files=tuple(trouble.files)[:8],
                    step=trouble.first_step,
                    details={"count": trouble.count, "resolved_how": trouble.ended_by},
                )

    def size(self) -> int:
        return 1000 * len(self._troubles)

    def shrink(self) -> None:
        for print_ in list(self._troubles)[: len(self._troubles) // 2]:
            del self._troubles[print_]

    def _edited(self, files: Sequence[str]) -> None:
        for trouble in self._open():
            for path in files:
                trouble.files[path] = None
                trouble.edit = f"edited {path}"

    def _passed(self, command: str) -> None:
        for trouble in self._open():
            if command in trouble.commands:
                trouble.passed()
            else:
                trouble.run = f"ran `{one_line(command)[:120]}`"

    def _failed(self, failure: Failure, command: str, moment: Moment) -> None:
        print_ = failure.fingerprint
        trouble = self._troubles.get(print_)
        if trouble is None:
            if len(self._troubles) >= MOST_ERRORS:
                return
            trouble = self._troubles[print_] = _Trouble(failure.error, moment.step)
        trouble.seen_again(command, moment.in_sight[:3])

    def _open(self) -> Iterable[_Trouble]:
        return (trouble for trouble in self._troubles.values() if not trouble.is_over)


def _wording(trouble: _Trouble) -> str:
    command = one_line(next(iter(trouble.commands)))[:120]
    said = f"`{command}` failed {trouble.count} times with `{trouble.error[:200]}`"
    return (
        f"{said}; it passed after the agent {trouble.ended_by}." if trouble.ended_by else f"{said}."
    )
