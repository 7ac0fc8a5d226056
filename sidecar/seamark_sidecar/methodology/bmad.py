"""Analyst, product manager, architect, developer and tester, working through epics and stories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from seamark_sidecar.methodology import relay, work_state
from seamark_sidecar.methodology.phases import phase_in
from seamark_sidecar.methodology.plugin import (
    Execution,
    FieldKind,
    Notebook,
    Relay,
    TypeDefinition,
    WorkState,
    WorkUnit,
    WorkUnitResult,
)
from seamark_sidecar.model.memory import Memory, MemoryType
from seamark_sidecar.model.phase import Phase

ACCEPTANCE = TypeDefinition(
    name="acceptance_criterion",
    description="What a story must do to be accepted.",
    fields={
        "story": (FieldKind.TEXT, True),
        "criterion": (FieldKind.TEXT, True),
        "met": (FieldKind.FLAG, False),
    },
    half_life=None,
    weights={Phase.DEFINE: 1.2, Phase.IMPLEMENT: 1.2, Phase.VALIDATE: 1.5},
)
STORY_NOTE = TypeDefinition(
    name="story_note",
    description="What the developer of a story wants the next one to know.",
    fields={"story": (FieldKind.TEXT, True), "concerns": (FieldKind.TEXTS, False)},
    half_life=60.0,
    weights={Phase.IMPLEMENT: 1.2, Phase.REFINE: 1.1},
)
# `Status: Ready for Review`, as stories have it near their top.
_STATUS = re.compile(
    r"^[ \t#*]{0,8}status[ \t*]{0,4}:[ \t*]{0,4}(?P<status>[A-Za-z][A-Za-z ]{2,40})", re.IGNORECASE
)


class Bmad:
    """Work units are stories within epics."""

    id = "bmad"
    name = "BMAD"
    phases: Mapping[str, Phase] = MappingProxyType({
        "analysis":      Phase.EXPLORE,
        "brainstorming": Phase.EXPLORE,
        "planning":      Phase.DEFINE,
        "prd":           Phase.DEFINE,
        "solutioning":   Phase.DEFINE,
        "architecture":  Phase.DEFINE,
        "sharding":      Phase.DEFINE,
        "story":         Phase.DEFINE,
        "development":   Phase.IMPLEMENT,
        "dev":           Phase.IMPLEMENT,
        "qa":            Phase.VALIDATE,
        "review":        Phase.VALIDATE,
        "correction":    Phase.REFINE,
        "retrospective": Phase.REFLECT,
    })  # fmt: skip
    types: Sequence[TypeDefinition] = (ACCEPTANCE, STORY_NOTE)

    def phase_of(self, phase: str) -> Phase:
        return phase_in(self.phases, phase)

    def work_unit(self, execution: Execution) -> WorkUnit:
        names = ("Epic", "Story", "Task")
        hierarchy = tuple(each for each in execution.unit if each)
        parts = [
            f"{names[min(depth, len(names) - 1)]} {each}" for depth, each in enumerate(hierarchy)
        ]
        return WorkUnit(
            methodology=self.id,
            hierarchy=hierarchy,
            label=" / ".join(parts) or execution.task[:80],
        )

    def relays(self) -> Sequence[Relay]:
        return (
            Relay(from_role="analyst", to_role="pm"),
            Relay(
                from_role="pm",
                to_role="architect",
                types=(MemoryType.REQUIREMENT, MemoryType.DECISION),
            ),
            Relay(
                from_role="architect",
                to_role="sm",
                types=(MemoryType.DECISION, MemoryType.PATTERN, MemoryType.REQUIREMENT),
            ),
            Relay(from_role="sm", to_role="dev"),
            Relay(from_role="dev", to_role="qa"),
            Relay(
                from_role="qa",
                to_role="dev",
                types=(MemoryType.ERROR_PATTERN, MemoryType.REQUIREMENT, ACCEPTANCE.name),
            ),
        )

    def relay_text(self, memories: Sequence[Memory], to_role: str) -> str:
        handed_on = relay.chosen(self.relays(), memories, to_role)
        return relay.told(handed_on, f"For the {_ROLES.get(to_role, to_role)}, from those before:")

    def work_state(self, output: str) -> WorkState:
        state = dict(work_state.read_lists(output))
        for line in output.splitlines()[-work_state.MOST_LINES :]:
            if match := _STATUS.match(line):
                state["status"] = " ".join(match["status"].split()).lower()
        return state

    def work_state_text(self, state: WorkState) -> str:
        status = state.get("status")
        opening = f"The story stands at: {status}." if isinstance(status, str) else ""
        return "\n".join(part for part in (opening, work_state.list_text(state)) if part)

    def completed(self, execution: Execution, result: WorkUnitResult, notebook: Notebook) -> None:
        outcome = "is done" if result.succeeded else f"was sent back: {result.reason or 'unsaid'}"
        notebook.propose(
            MemoryType.WORK_UNIT_OUTCOME,
            f"{result.unit.label or 'The story'} {outcome}.",
            files=result.files,
            tags=("story",),
        )


_ROLES: Mapping[str, str] = {
    "pm": "product manager",
    "sm": "scrum master",
    "dev": "developer",
    "qa": "tester",
}
