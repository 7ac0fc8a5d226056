"""The same error again and again, and what ended it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.model.candidate import Candidate, Signal
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.tools import Action
from seamark_sidecar.observer.wording import finding_key, one_line

# The line that says what went wrong, best first.
_ERROR_LINES = (
    re.compile(r"^E\s{2,}(?P<error>\S.*)$", re.MULTILINE),
    re.compile(r"^(?P<error>[A-Za-z_][\w.]*(?:Error|Exception|Failure)\b.*)$", re.MULTILINE),
    re.compile(r"^(?:fatal|error|ERROR|Error)[:\s]\s*(?P<error>\S.*)$", re.MULTILINE),
)
_EXIT_CODE = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+(?P<code>\d+)", re.I)
_VARIABLE_PARTS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"(?:/[\w.-]+){2,}/"), "…/"),
    (re.compile(r"\d+"), "0"),
)
LONGEST_ERROR = 300
MOST_ERRORS = 200


@dataclass(slots=True)
class _Trouble:
    error: str
    command: str
    first_step: int
    count: int = 0
    files: dict[str, None] = field(default_factory=dict)
    # What was done since it was last seen; the last of it before a success ended the trouble.
    since: list[str] = field(default_factory=list)
    ended_by: str = ""


class ErrorRetry:
    """Counts errors by fingerprint and keeps what stood between the last one and a success."""

    def __init__(self) -> None:
        self._troubles: dict[str, _Trouble] = {}

    def see(self, moment: Moment) -> None:
        use, body = moment.use, moment.body
        if use is None or not isinstance(body, ToolReturned):
            return
        if use.action in (Action.EDIT, Action.WRITE) and body.outcome is Outcome.OK:
            for trouble in self._open():
                trouble.files.update(dict.fromkeys(use.files))
                trouble.since.extend(f"edited {path}" for path in use.files)
        if use.action is not Action.RUN:
            return
        error = error_of(body)
        if error is None:
            for trouble in self._open():
                if trouble.command == use.command:
                    trouble.ended_by = trouble.since[-1] if trouble.since else ""
                else:
                    trouble.since.append(f"ran `{one_line(use.command)[:120]}`")
            return
        if len(self._troubles) >= MOST_ERRORS:
            return
        trouble = self._troubles.setdefault(
            fingerprint(error), _Trouble(error, use.command, moment.step)
        )
        trouble.count += 1
        trouble.since.clear()
        trouble.ended_by = ""
        trouble.files.update(dict.fromkeys(moment.in_sight[:3]))

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

    def _open(self) -> Iterable[_Trouble]:
        return (trouble for trouble in self._troubles.values() if not trouble.ended_by)


def error_of(returned: ToolReturned) -> str | None:
    """The line that names the error; None when the call succeeded."""
    code = _EXIT_CODE.search(returned.result)
    failed = returned.outcome is Outcome.ERROR or (code is not None and int(code["code"]) != 0)
    if not failed:
        return None
    for pattern in _ERROR_LINES:
        match = pattern.search(returned.result)
        if match:
            return one_line(match["error"])[:LONGEST_ERROR]
    return one_line(returned.result)[-LONGEST_ERROR:] or None


def fingerprint(error: str) -> str:
    """The error without what changes from run to run."""
    for pattern, plain in _VARIABLE_PARTS:
        error = pattern.sub(plain, error)
    return error.lower()


def _wording(trouble: _Trouble) -> str:
    command = one_line(trouble.command)[:120]
    said = f"`{command}` failed {trouble.count} times with `{trouble.error[:200]}`"
    return (
        f"{said}; it passed after the agent {trouble.ended_by}." if trouble.ended_by else f"{said}."
    )
