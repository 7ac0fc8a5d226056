"""What the result of a tool call says."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from seamark.events import Outcome, ToolReturned
from seamark_sidecar.observer.calls.paths import Roots, is_absolute
from seamark_sidecar.observer.calls.use import Action, Shows, ToolUse
from seamark_sidecar.observer.results.errors import Failure, failure_of
from seamark_sidecar.observer.results.listings import (
    changed_paths,
    found_by_file_search,
    found_by_text_search,
)
from seamark_sidecar.observer.results.test_output import Tests, read_tests

__all__ = ["Result", "Tests", "read_result"]

# What does not fail by finding nothing.
_SEARCHES = frozenset({Action.SEARCH_TEXT, Action.SEARCH_FILES})
# A search that found nothing leaves at most the words of its harness.
LONGEST_NOTHING = 60


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


_NOTHING_SPECIAL = Result()


def read_result(
    use: ToolUse, returned: ToolReturned, root: str, roots: Roots | None = None
) -> Result:
    """The result in our terms."""
    is_error = returned.outcome is Outcome.ERROR
    if use.action in _SEARCHES:
        return _search_result(use, returned, roots or Roots(given=root))
    failure = failure_of(returned) if use.command or is_error else None
    tests = read_tests(returned.result) if use.runner else None
    changed: tuple[str, ...] = ()
    if use.shows is not Shows.NOTHING:
        changed = changed_paths(
            returned.result, use.shows, _placer(use, roots or Roots(given=root))
        )
    if failure is None and tests is None and not changed:
        return _NOTHING_SPECIAL
    return Result(failure=failure, tests=tests, changed=changed)


def _search_result(use: ToolUse, returned: ToolReturned, roots: Roots) -> Result:
    output = returned.result
    failure = failure_of(returned)
    if failure is not None:
        # `grep` that finds nothing ends with 1.
        is_told = len(output.strip()) <= LONGEST_NOTHING and "exit" in output.lower()
        is_empty = not failure.error or is_told
        return Result(match_count=0) if is_empty else Result(failure=failure)
    reader = found_by_text_search if use.action is Action.SEARCH_TEXT else found_by_file_search
    found, count = reader(output, _placer(use, roots))
    if not found and len(use.places) == 1 and count > 0 and use.action is Action.SEARCH_TEXT:
        # One file was searched; its name is not repeated.
        found = use.places
    return Result(found=found, match_count=count)


def _placer(use: ToolUse, roots: Roots) -> Callable[[str], str | None]:
    """How a path in the output becomes one of the project."""
    base = use.directory
    if use.action is Action.SEARCH_FILES and len(use.places) == 1 and use.command.count("ls") > 0:
        # `ls src` prints names within.
        base = use.places[0]

    def place(raw: str) -> str | None:
        if base and not is_absolute(raw) and not raw.startswith(base + "/"):
            raw = posixpath.join(base, raw)
        return roots.place(raw)

    return place
