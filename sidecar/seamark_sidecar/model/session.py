"""One run of one agent, as the record keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from seamark.events import SessionOutcome
from seamark.injections import SessionState, SessionSummary


class SessionType(StrEnum):
    """What kind of work a session is; decides its gate."""

    BUILD = "build"
    INSIGHTS = "insights"
    ROADMAP = "roadmap"
    TERMINAL = "terminal"
    CHANGELOG = "changelog"
    SPEC_CREATION = "spec_creation"
    PR_REVIEW = "pr_review"


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
