"""What a run keeps in the agent's state, to survive an interrupt or a change of process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr


class SeamarkState(AgentState[Any]):
    """Private: neither input nor output of the agent, but in its checkpoints and its streams."""

    seamark_ticket: NotRequired[Annotated[str, PrivateStateAttr]]
    seamark_system: NotRequired[Annotated[str, PrivateStateAttr]]
    seamark_first_message: NotRequired[Annotated[str, PrivateStateAttr]]
    seamark_first_message_id: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A run's session with the texts chosen at its start; they stay so that caches stay valid."""

    # Empty between runs.
    ticket: str = ""
    # For the end of the system text.
    system: str = ""
    # For the end of the user message with the id below.
    first_message: str = ""
    first_message_id: str = ""

    @classmethod
    def from_state(cls, state: object) -> Frozen:
        """What a state holds; empty for a state without a run of ours."""
        if not isinstance(state, Mapping):
            return cls()
        return cls(
            ticket=state.get("seamark_ticket") or "",
            system=state.get("seamark_system") or "",
            first_message=state.get("seamark_first_message") or "",
            first_message_id=state.get("seamark_first_message_id") or "",
        )

    def as_update(self) -> dict[str, Any]:
        """The update that makes a state hold this, whatever it held before."""
        return {
            "seamark_ticket": self.ticket,
            "seamark_system": self.system,
            "seamark_first_message": self.first_message,
            "seamark_first_message_id": self.first_message_id,
        }
