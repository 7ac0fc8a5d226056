"""What a session did so far, in numbers and short notes, for people to look at."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from seamark_sidecar.observer.calls.paths import is_within
from seamark_sidecar.observer.calls.use import Action, ToolUse, Touch
from seamark_sidecar.observer.results.result import Tests

MOST_CALLS = 2_000
MOST_TESTS = 500
MOST_FILES = 2_000
_BYTES_A_NOTE = 300


@dataclass(slots=True)
class FileAccess:
    """How a session touched one file; changes are counted while they stand."""

    reads: int = 0
    edits: int = 0
    writes: int = 0
    last_step: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether the session changed it."""
        return bool(self.edits or self.writes)


@dataclass(frozen=True, slots=True)
class CallNote:
    """One tool call."""

    step: int
    tool: str
    action: Action
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TestNote:
    """One run of tests."""

    step: int
    tests: Tests


@dataclass(slots=True)
class History:
    """Bounded: of a very long session the latest part is kept."""

    # Project-relative path to how it was touched, the latest touched last.
    files: dict[str, FileAccess] = field(default_factory=dict)
    # Those that calls named, whether they touched them or not.
    named: dict[str, None] = field(default_factory=dict)
    actions: Counter[Action] = field(default_factory=Counter)
    calls: deque[CallNote] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))
    tests: deque[TestNote] = field(default_factory=lambda: deque(maxlen=MOST_TESTS))

    def called(self, use: ToolUse, step: int) -> None:
        """Takes note of a call."""
        self.actions[use.action] += 1
        mentioned = use.mentioned
        self.calls.append(CallNote(step, use.tool, use.action, mentioned))
        for path in mentioned:
            if len(self.named) < MOST_FILES:
                self.named[path] = None

    def tested(self, tests: Tests, step: int) -> None:
        """Takes note of a run of tests."""
        self.tests.append(TestNote(step, tests))

    def touched(self, touch: Touch, step: int) -> None:
        """Takes note of a file that was read or changed."""
        access = self.files.pop(touch.path, None)
        if access is None:
            access = FileAccess()
            if len(self.files) >= MOST_FILES:
                del self.files[next(iter(self.files))]
        access.reads += touch.action is Action.READ
        access.edits += touch.action is Action.EDIT
        access.writes += touch.action is Action.WRITE
        access.last_step = step
        self.files[touch.path] = access

    def undone(self, place: str) -> None:
        """What the session changed there is no more; `.` stands for everywhere."""
        for path, access in self.files.items():
            if access.is_changed and (place == "." or is_within(path, place)):
                access.edits = access.writes = 0

    def size(self) -> int:
        """About how many bytes it holds."""
        files = len(self.files) + len(self.named)
        return _BYTES_A_NOTE * (files + len(self.calls) + len(self.tests))
