"""What the result of a tool call says."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.errors import Failure, failure_of
from seamark_sidecar.observer.use import COMMANDS, ToolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """How a run of tests ended; counts are -1 where the output does not say."""

    passed: int = -1
    failed: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result, understood."""

    # Set when the call failed.
    failure: Failure | None = None
    # For a run of tests whose output was understood.
    tests: Tests | None = None
    # For a search: project-relative paths in the answer, and how many matches; -1: unknown.
    found: tuple[str, ...] = ()
    match_count: int = -1
    # For a look at the version control: project-relative paths it shows as changed.
    changed: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the call did not do what was asked."""
        return self.failure is not None


def read_result(use: ToolUse, returned: ToolReturned, root: str) -> Result:
    """The result in our terms."""
    del root
    if use.action not in COMMANDS and returned.outcome is not Outcome.ERROR:
        return Result()
    return Result(failure=failure_of(returned))
