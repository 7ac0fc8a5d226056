"""The same error again and again, and what ended it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.model.candidate import Candidate, Signal
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.tools import Action
from seamark_sidecar.observer.wording import finding_key, one_line

# The line that says what went wrong, best first.
_ERROR_LINES = (
    re.compile(r"^E[ \t]{2,}(?P<error>\S.*)$", re.MULTILINE),
    re.compile(r"^(?P<error>[A-Za-z_][\w.]*(?:Error|Exception|Failure)\b.*)$", re.MULTILINE),
    re.compile(r"^(?:fatal|error|ERROR|Error)[:\s]\s*(?P<error>\S.*)$", re.MULTILINE),
)
# `exit code 1`, `Exit code: 1`, `[Command failed with exit code 1]`, `exited with status 1`.
_EXIT_CODE = re.compile(
    r"\W?[\w ]{0,40}?\bexit(?:ed)?(?: with)? (?:code|status)[ :=]+(?P<code>-?[0-9]{1,10})\W{0,3}",
    re.IGNORECASE,
)
_VARIABLE_PARTS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"(?<![\w.-])(?:/[\w.-]+)+/"), "…/"),
    (re.compile(r"\d+"), "0"),
)
LONGEST_ERROR = 300
LONGEST_LINE = 200
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
        use, body = moment.use, moment.body
        if use is None or not isinstance(body, ToolReturned):
            return
        if use.action in (Action.EDIT, Action.WRITE) and body.outcome is Outcome.OK:
            self._edited(use.files)
        if use.action is Action.RUN:
            error = error_of(body)
            if error is None:
                self._passed(use.command)
            elif error:
                self._failed(error, use.command, moment)

    def candidates(self) -> Iterable[Candidate]:
        for print_, trouble in self._troubles.items():
            if trouble.count >= 2:
                yield Candidate(
                    signal=Signal.ERROR_RETRY,
                    source=Source.OBSERVER_INFERRED,
                    type=MemoryType.ERROR_PATTERN,
                    content=_wording(trouble),
                    key=finding_key("error_retry", print_),
                    files=tuple(trouble.files)[:8],
                    step=trouble.first_step,
                )

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

    def _failed(self, error: str, command: str, moment: Moment) -> None:
        print_ = fingerprint(error)
        trouble = self._troubles.get(print_)
        if trouble is None:
            if len(self._troubles) >= MOST_ERRORS:
                return
            trouble = self._troubles[print_] = _Trouble(error, moment.step)
        trouble.seen_again(command, moment.in_sight[:3])

    def _open(self) -> Iterable[_Trouble]:
        return (trouble for trouble in self._troubles.values() if not trouble.is_over)


def error_of(returned: ToolReturned) -> str | None:
    """The line that names the error, empty if there is none; None when the call succeeded."""
    output, code = _split(returned.result)
    if returned.outcome is not Outcome.ERROR and code == 0:
        return None
    for pattern in _ERROR_LINES:
        match = pattern.search(output)
        if match:
            return one_line(match["error"])[:LONGEST_ERROR]
    return one_line(output)[-LONGEST_ERROR:]


def _split(result: str) -> tuple[str, int]:
    """The output, and the exit code that a tool wrote before or after it."""
    lines = result.strip().splitlines()
    for index in (0, -1) if lines else ():
        line = lines[index].strip()
        match = _EXIT_CODE.fullmatch(line) if len(line) <= LONGEST_LINE else None
        if match:
            del lines[index]
            return "\n".join(lines), int(match["code"])
    return result, 0


def fingerprint(error: str) -> str:
    """The error without what changes from run to run."""
    for pattern, plain in _VARIABLE_PARTS:
        error = pattern.sub(plain, error)
    return error.lower()


def _wording(trouble: _Trouble) -> str:
    command = one_line(next(iter(trouble.commands)))[:120]
    said = f"`{command}` failed {trouble.count} times with `{trouble.error[:200]}`"
    return (
        f"{said}; it passed after the agent {trouble.ended_by}." if trouble.ended_by else f"{said}."
    )
