"""A specification, cut into subtasks that are planned, coded, reviewed and fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from seamark_sidecar.methodology import relay, work_state
from seamark_sidecar.methodology.phases import phase_in
from seamark_sidecar.methodology.plugin import (
    Execution,
    Notebook,
    Relay,
    TypeDefinition,
    WorkState,
    WorkUnit,
    WorkUnitResult,
)
from seamark_sidecar.model.memory import Memory, MemoryType
from seamark_sidecar.model.phase import Phase


class Native:
    """What is used when an app says nothing of how it works."""

    id = "native"
    name = "Specification and subtasks"
    phases: Mapping[str, Phase] = MappingProxyType({
        "planning":   Phase.DEFINE,
        "spec":       Phase.DEFINE,
        "coding":     Phase.IMPLEMENT,
        "qa_review":  Phase.VALIDATE,
        "qa_fix":     Phase.REFINE,
        "debugging":  Phase.REFINE,
        "insights":   Phase.EXPLORE,
        "retrospect": Phase.REFLECT,
    })  # fmt: skip
    types: Sequence[TypeDefinition] = ()

    def phase_of(self, phase: str) -> Phase:
        return phase_in(self.phases, phase)

    def work_unit(self, execution: Execution) -> WorkUnit:
        spec, *subtasks = execution.unit or ("",)
        parts = [f"Spec {spec}"] if spec else []
        parts += [f"Subtask {each}" for each in subtasks]
        return WorkUnit(
            methodology=self.id,
            hierarchy=tuple(each for each in execution.unit if each),
            label=" / ".join(parts) or execution.task[:80],
        )

    def relays(self) -> Sequence[Relay]:
        return (
            Relay(from_role="planner", to_role="coder"),
            Relay(from_role="coder", to_role="qa_reviewer"),
            Relay(
                from_role="qa_reviewer",
                to_role="qa_fixer",
                types=(MemoryType.ERROR_PATTERN, MemoryType.REQUIREMENT),
            ),
        )

    def relay_text(self, memories: Sequence[Memory], to_role: str) -> str:
        handed_on = relay.chosen(self.relays(), memories, to_role)
        return relay.told(handed_on, f"Handed on to the {to_role.replace('_', ' ')}:")

    def work_state(self, output: str) -> WorkState:
        return work_state.read_lists(output)

    def work_state_text(self, state: WorkState) -> str:
        return work_state.list_text(state)

    def completed(self, execution: Execution, result: WorkUnitResult, notebook: Notebook) -> None:
        outcome = "was finished" if result.succeeded else f"failed: {result.reason or 'unsaid why'}"
        notebook.propose(
            MemoryType.WORK_UNIT_OUTCOME,
            f"{result.unit.label or 'The work'} {outcome}, after {result.steps} steps.",
            files=result.files,
        )
