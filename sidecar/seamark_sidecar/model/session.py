"""One run of one agent, as the record keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from seamark.events import SessionOutcome
from seamark.injections import SessionState, SessionSummary
from seamark_sidecar.model.phase import Phase


class SessionType(StrEnum):
    """What kind of work a session is; decides its gate."""

    BUILD = "build"
    INSIGHTS = "insights"
    ROADMAP = "roadmap"
    TERMINAL = "terminal"
    CHANGELOG = "changelog"
    SPEC_CREATION = "spec_creation"
    PR_REVIEW = "pr_review"


class SessionOrigin(StrEnum):
    """Where a session's events come from."""

    LIVE = "live"
    # Recorded before, and fed in again.
    REPLAY = "replay"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Where a session stands in the work it is part of."""

    # Sessions of a project with the same group work at the same time on the same thing.
    group: str = ""
    # The session whose agent this one works for.
    parent: str = ""
    # How the work is organised; see `methodology`.
    methodology: str = ""
    # Where it stands, as the methodology calls it, and in the terms of all of them.
    stage: str = ""
    phase: Phase | None = None
    # From the outside in: `("spec_042", "subtask_3")`.
    unit: tuple[str, ...] = ()
    # Model calls; 0: nobody planned.
    planned_steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session as it is stored."""

    id: str
    project_id: str
    # The root of the checkout as the agent sees it; empty for a project without one.
    root: str
    type: SessionType
    role: str
    task: str
    capability_hash: bytes
    state: SessionState
    started: datetime
    ended: datetime | None = None
    outcome: SessionOutcome | None = None
    summary: SessionSummary | None = None
    origin: SessionOrigin = SessionOrigin.LIVE
    # A person at a terminal vouched for what was not watched as it happened.
    vouched: bool = False
    work: Work = Work()
    # What its app said of the work; None while nothing was said.
    validated: bool | None = None
    # How far the project's history of contaminated text had come when it started.
    marks_until: int = 0
    # The first text from outside that came in; empty: none did.
    contaminated_by: str = ""

    @property
    def is_hearsay(self) -> bool:
        """Whether nobody stands for what it holds: it teaches nothing."""
        return self.origin is not SessionOrigin.LIVE and not self.vouched
