"""What a methodology has to say of itself, and what it gets to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from seamark_sidecar.model.memory import Memory
from seamark_sidecar.model.phase import Phase

# What can stand in a work state: it is stored as JSON.
Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
WorkState = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What is known of a session that works by a methodology."""

    session_id: str = ""
    role: str = ""
    # In the methodology's own words.
    phase: str = ""
    # What its app says is worked on, from the outside in.
    unit: tuple[str, ...] = ()
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkUnit:
    """A piece of work that memories can belong to."""

    methodology: str
    # From the outside in: `("spec_042", "subtask_3")`.
    hierarchy: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkUnitResult:
    """How a piece of work ended."""

    unit: WorkUnit
    succeeded: bool
    reason: str = ""
    # Project-relative.
    files: tuple[str, ...] = ()
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """What one role hands on to the next."""

    from_role: str
    to_role: str
    # Only memories of these types; empty: of all.
    types: tuple[str, ...] = ()


class FieldKind(StrEnum):
    """What a field of a memory type's details holds."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDefinition:
    """A memory type of a methodology's own."""

    name: str
    description: str
    # The fields of its details, each with whether it must be there.
    fields: Mapping[str, tuple[FieldKind, bool]] = field(default_factory=dict)
    # In days of activity; None: it does not fade.
    half_life: float | None = 90.0
    # How much it counts in each phase; 1 where nothing is said.
    weights: Mapping[Phase, float] = field(default_factory=dict)


class Notebook(Protocol):
    """What a methodology may do with memory: propose. The gates decide, as for everybody."""

    def propose(
        self, type_: str, content: str, *, files: Sequence[str] = (), tags: Sequence[str] = ()
    ) -> None:
        """Puts a candidate on the session's scratchpad."""


class Methodology(Protocol):
    """A way of working. Its functions are short and pure; only `completed` has an effect."""

    @property
    def id(self) -> str:
        """Lower-case letters, digits and dashes: `tdd`."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def phases(self) -> Mapping[str, Phase]:
        """Its own names of phases, and what each is to memory."""

    @property
    def types(self) -> Sequence[TypeDefinition]:
        """Memory types of its own."""

    def phase_of(self, phase: str) -> Phase:
        """What a phase is to memory, also one whose name is not in the table."""

    def work_unit(self, execution: Execution) -> WorkUnit:
        """The piece of work that a session is at."""

    def relays(self) -> Sequence[Relay]:
        """Who hands on to whom."""

    def relay_text(self, memories: Sequence[Memory], to_role: str) -> str:
        """What a role is told of what the one before it learnt; empty when nothing."""

    def work_state(self, output: str) -> WorkState:
        """Where the work stands, read from what a session said last; empty when it does not say."""

    def work_state_text(self, state: WorkState) -> str:
        """A work state for the agent that goes on from there."""

    def completed(self, execution: Execution, result: WorkUnitResult, notebook: Notebook) -> None:
        """Called when a piece of work has ended."""
