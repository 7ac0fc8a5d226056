"""What went wrong in a tool call, and which failures are the same one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.results.error_lines import (
    LONGEST_ERROR,
    LONGEST_LINE,
    MODULE_LEVEL,
    error_line,
    failing_test,
    innermost_frame,
    lines_of,
)
from seamark_sidecar.observer.results.fingerprints import fingerprint
from seamark_sidecar.observer.text.wording import one_line

# `exit code 1`, `Exit code: 1`, `[Command failed with exit code 1]`, `exited with status 1`.
_EXIT_CODE = re.compile(
    r"\W?[\w ]{0,40}?\bexit(?:ed)?(?: with)? (?:code|status)[ :=]+(?P<code>-?[0-9]{1,10})\W{0,3}",
    re.IGNORECASE,
)
# The call was not made, or was stopped: nothing about the project is known by it.
_NOT_RUN = re.compile(
    r"(?:<\w{1,20}>)?(?:The user doesn't want|\[?Request interrupted|Permission to use|"
    r"The user rejected|Interrupted by user|Tool use was rejected|Operation cancelled by user|"
    r"Command was blocked|This command requires approval|Sibling tool call|"
    r"File has (?:not )?been|InputValidationError|Please always provide EXACTLY ONE|"
    r"No such tool|Unknown tool|Invalid tool)",
    re.IGNORECASE,
)
_FILE_OF_PLACE = re.compile(r"::?")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure."""

    # The line that names it, or the last of the output; empty when there is none.
    error: str
    # Equal for failures that are the same but for what changes from run to run.
    fingerprint: str
    # The failing test, or where in the project's code it was raised; empty when unknown.
    place: str = ""
    # The output says what went wrong, so that the fingerprint means something.
    is_named: bool = False
    # False: the call was refused or stopped, and nothing was done.
    was_run: bool = True

    @property
    def file(self) -> str:
        """The name of the file in which it shows; empty when unknown."""
        return _FILE_OF_PLACE.split(self.place, maxsplit=1)[0].rpartition("/")[2]


def failure_of(returned: ToolReturned) -> Failure | None:
    """What went wrong; None when the call succeeded."""
    output, code = _split(returned.result)
    if returned.outcome is not Outcome.ERROR and code == 0:
        return None
    return failure_in(output)


def failure_in(output: str) -> Failure:
    """What went wrong, in the output of something that failed."""
    if _NOT_RUN.match(output[:LONGEST_LINE].lstrip()):
        return Failure(one_line(output[:LONGEST_LINE]), "", was_run=False)
    lines = lines_of(output)
    line = error_line(lines)
    place = failing_test(lines) or innermost_frame(lines) or line.file
    if not line.error and not place:
        last = next((each for each in reversed(lines) if each.strip()), "")
        return Failure(one_line(last)[:LONGEST_ERROR], fingerprint(last))
    error = line.error or f"{place} failed"
    has_place = bool(place) and not place.endswith(f":{MODULE_LEVEL}")
    shape = fingerprint(error)
    if has_place and not line.is_rule:
        shape = f"{shape} @ {fingerprint(place)}"
    return Failure(error, shape, place, is_named=has_place or _has_message(error))


def error_of(returned: ToolReturned) -> str | None:
    """The line that names the error, empty if there is none; None when the call succeeded."""
    failure = failure_of(returned)
    return None if failure is None else failure.error


def _has_message(error: str) -> bool:
    """Whether it says more than the kind of error."""
    kind, _, message = error.partition(": ")
    return " " in kind or bool(message)


def _split(result: str) -> tuple[str, int]:
    """The output, and the exit code that a tool wrote before or after it."""
    text = result.strip()
    first, _, rest = text.partition("\n")
    code = _exit_code(first)
    if code is not None:
        return rest, code
    before, _, last = text.rpartition("\n")
    code = _exit_code(last)
    return (result, 0) if code is None else (before, code)


def _exit_code(line: str) -> int | None:
    if len(line) > LONGEST_LINE:
        return None
    match = _EXIT_CODE.fullmatch(line.strip())
    return int(match["code"]) if match else None
