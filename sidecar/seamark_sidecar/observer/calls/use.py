"""One tool call in our own terms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a call does, as far as memory is concerned."""

    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    SEARCH_TEXT = "search_text"
    SEARCH_FILES = "search_files"
    RUN = "run"
    TEST = "test"
    WEB = "web"
    VCS = "vcs"
    UI = "ui"
    OTHER = "other"


CHANGES = frozenset({Action.EDIT, Action.WRITE})
# What leaves an exit code and output behind.
COMMANDS = frozenset({Action.RUN, Action.TEST, Action.VCS})


class Origin(StrEnum):
    """Where text that did not come from the project came from."""

    WEB = "web"
    ISSUE_TRACKER = "issue_tracker"
    DOWNLOAD = "download"
    PACKAGES = "packages"
    DEPENDENCY = "dependency"
    FOREIGN_BRANCH = "foreign_branch"
    UNTRUSTED_SERVER = "untrusted_server"
    SUBAGENT = "subagent"
    # Repeated from, or written after, text of one of the above.
    DERIVED = "derived"
    # A recorded session that nobody vouched for.
    REPLAY = "replay"


class Shows(StrEnum):
    """What a look at the version control shows of the working tree."""

    NOTHING = ""
    DIFF = "diff"
    STATUS = "status"
    # One path a line.
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class Touch:
    """One file that a call reads or changes."""

    # Project-relative.
    path: str
    # READ, EDIT or WRITE.
    action: Action
    # The lines, from 1; 0 when unknown or all of them.
    first_line: int = 0
    last_line: int = 0
    # For an edit: the text it replaces, or the head of it; empty when unknown.
    replaced: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call, understood."""

    call_id: str
    tool: str
    action: Action
    touches: tuple[Touch, ...] = ()
    # Absolute, or relative to a home directory: paths that are not the project's.
    outside: tuple[str, ...] = ()
    # What a search looks for, and in which project-relative places.
    patterns: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    # For a call that runs a command.
    command: str = ""
    # For a call that runs tests: `pytest`, `go test`, ...
    runner: str = ""
    # For a web call: what was asked for, a query or an address.
    reference: str = ""
    # It brings text from outside the project.
    origin: Origin | None = None
    # For a call that writes: a part of the text written, for telling repeated text.
    written: str = ""
    # Files that it names and neither shows nor changes: a script it runs, tests, what it stages.
    named: tuple[str, ...] = ()
    # Files that it deletes or moves away, and those it sets back to what version control holds;
    # `.` stands for all of them.
    gone: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    # The project-relative directory that paths in its output count from; empty is the root.
    directory: str = ""
    # What of the working tree's changes its output shows.
    shows: Shows = Shows.NOTHING

    @property
    def files(self) -> tuple[str, ...]:
        """The paths touched, each once."""
        return tuple(dict.fromkeys(touch.path for touch in self.touches))

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths changed, each once."""
        return tuple(dict.fromkeys(touch.path for touch in self.touches if touch.action in CHANGES))

    @property
    def mentioned(self) -> tuple[str, ...]:
        """All the files it works with, each once: touched, searched, named or removed."""
        others = (path for path in (*self.places, *self.gone) if "." in path.rpartition("/")[2][1:])
        return tuple(dict.fromkeys((*self.files, *others, *self.named)))
