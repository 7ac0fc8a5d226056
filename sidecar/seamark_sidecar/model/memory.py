"""What was learnt about a project and proved right."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MemoryType(StrEnum):
    """The kinds of things worth remembering."""

    GOTCHA = "gotcha"
    DECISION = "decision"
    PREFERENCE = "preference"
    PATTERN = "pattern"
    REQUIREMENT = "requirement"
    ERROR_PATTERN = "error_pattern"
    MODULE_INSIGHT = "module_insight"
    PREFETCH_PATTERN = "prefetch_pattern"
    WORK_STATE = "work_state"
    CAUSAL_DEPENDENCY = "causal_dependency"
    TASK_CALIBRATION = "task_calibration"
    E2E_OBSERVATION = "e2e_observation"
    DEAD_END = "dead_end"
    WORK_UNIT_OUTCOME = "work_unit_outcome"
    WORKFLOW_RECIPE = "workflow_recipe"
    CONTEXT_COST = "context_cost"

    @classmethod
    def named(cls, name: str) -> MemoryType | None:
        """The type of this name, if there is one."""
        return _TYPES.get(name)


_TYPES = {str(each): each for each in MemoryType}


class Source(StrEnum):
    """Who says so."""

    AGENT_EXPLICIT = "agent_explicit"
    OBSERVER_INFERRED = "observer_inferred"
    USER_TAUGHT = "user_taught"


LONGEST_LABEL = 40
_ID_PREFIX = "m_"


def memory_id(number: int) -> str:
    """The id of the memory of this number, which has 48 bits."""
    return f"{_ID_PREFIX}{number:012x}"


def memory_number(id_: str) -> int:
    """The number in a memory's id, for an index that wants numbers."""
    return int(id_.removeprefix(_ID_PREFIX), 16)


def new_memory_id() -> str:
    """A random id."""
    return memory_id(secrets.randbits(48))


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One fact, with where it comes from and how far it may be trusted."""

    id: str
    project_id: str
    type: MemoryType
    content: str
    confidence: float
    source: Source
    # What it was derived from; see `promotion.taxonomy`.
    signal: str
    # Project-relative.
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    # The sessions that found it independently, oldest first.
    sessions: tuple[str, ...] = ()
    created: datetime
    accessed: datetime
    access_count: int = 0
    pinned: bool = False
    needs_review: bool = False
    # Where text from outside came in that it may be made of; empty: nowhere.
    contaminated_by: str = ""
    # The change of the record that wrote this version; grows with every change of any memory.
    seq: int = 0

    @property
    def label(self) -> str:
        """A citation of at most 40 characters."""
        return label_of(self.type, self.content)


def label_of(type_: str, content: str) -> str:
    """A short name for people: the type and how the content begins."""
    words = " ".join(content.split())
    room = LONGEST_LABEL - len(type_) - 2
    if len(words) > room:
        words = words[: room - 1].rsplit(" ", 1)[0] + "…"
    return f"{type_}: {words}"
