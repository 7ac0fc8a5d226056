"""What went wrong in a tool call, and which failures are the same one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.wording import one_line

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


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure."""

    # The line that names it; empty when the output does not say.
    error: str
    # Equal for failures that are the same but for what changes from run to run.
    fingerprint: str


def failure_of(returned: ToolReturned) -> Failure | None:
    """What went wrong; None when the call succeeded."""
    error = error_of(returned)
    return None if error is None else Failure(error, fingerprint(error))


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
