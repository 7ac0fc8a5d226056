"""What agents that work at the same time see of each other."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_sidecar.model.candidate import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerEntry:
    """Something another session of the group found, and nobody has proved right."""

    session_id: str
    role: str
    candidate: Candidate

    @property
    def finder(self) -> str:
        """The role, or the session."""
        return self.role or self.session_id
