"""Red, green, refactor: a test that fails, the code that makes it pass, and cleaning up."""

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

TEST_CASE = TypeDefinition(
    name="test_case",
    description="A behaviour that a test pins down, and where that test is.",
    fields={
        "behaviour": (FieldKind.TEXT, True),
        "test": (FieldKind.TEXT, True),
        "was_red": (FieldKind.FLAG, False),
    },
    half_life=120.0,
    weights={Phase.DEFINE: 1.3, Phase.IMPLEMENT: 1.2, Phase.REFINE: 1.1},
)
# `RED: test_cart.py::test_total`, `Status: green`.
_COLOUR = re.compile(
    r"[ \t]{0,4}(?:status[ \t]{0,4}:[ \t]{0,4})?(?P<colour>red|green|refactor)\b"
    r"(?:[ \t]{0,4}:[ \t]{0,4}(?P<test>\S.{0,200}))?[ \t]{0,4}$",
    re.IGNORECASE,
)


class Tdd:
    """Work units are test cases within a feature."""

    id = "tdd"
    name = "Test-driven development"
    phases: Mapping[str, Phase] = MappingProxyType({
        "list":     Phase.DEFINE,
        "red":      Phase.DEFINE,
        "green":    Phase.IMPLEMENT,
        "verify":   Phase.VALIDATE,
        "refactor": Phase.REFINE,
        "spike":    Phase.EXPLORE,
        "review":   Phase.REFLECT,
    })  # fmt: skip
    types: Sequence[TypeDefinition] = (TEST_CASE,)

    def phase_of(self, phase: str) -> Phase:
        return phase_in(self.phases, phase)

    def work_unit(self, execution: Execution) -> WorkUnit:
        feature, *tests = execution.unit or ("",)
        parts = [f"Feature {feature}"] if feature else []
        parts += [f"Test {each}" for each in tests]
        return WorkUnit(
            methodology=self.id,
            hierarchy=tuple(each for each in execution.unit if each),
            label=" / ".join(parts) or execution.task[:80],
        )

    def relays(self) -> Sequence[Relay]:
        return (
            Relay(
                from_role="tester",
                to_role="coder",
                types=(TEST_CASE.name, MemoryType.REQUIREMENT, MemoryType.GOTCHA),
            ),
            Relay(from_role="coder", to_role="refactorer"),
            Relay(
                from_role="refactorer",
                to_role="tester",
                types=(MemoryType.DECISION, MemoryType.PATTERN, MemoryType.DEAD_END),
            ),
        )

    def relay_text(self, memories: Sequence[Memory], to_role: str) -> str:
        handed_on = relay.chosen(self.relays(), memories, to_role)
        return relay.told(handed_on, f"Before you {_TASKS.get(to_role, 'go on')}, know that:")

    def work_state(self, output: str) -> WorkState:
        state = dict(work_state.read_lists(output))
        for line in output.splitlines()[-work_state.MOST_LINES :]:
            if match := _COLOUR.match(line):
                state["colour"] = match["colour"].lower()
                if match["test"]:
                    state["current"] = " ".join(match["test"].split())
        return state

    def work_state_text(self, state: WorkState) -> str:
        colour = state.get("colour")
        opening = _OPENINGS.get(colour, "") if isinstance(colour, str) else ""
        return "\n".join(part for part in (opening, work_state.list_text(state)) if part)

    def completed(self, execution: Execution, result: WorkUnitResult, notebook: Notebook) -> None:
        if result.succeeded:
            return
        # A green test says what it has to say in the code.
        notebook.propose(
            MemoryType.WORK_UNIT_OUTCOME,
            f"{result.unit.label or 'The test'} did not turn green: "
            f"{result.reason or 'nobody said why'}.",
            files=result.files,
        )


_TASKS: Mapping[str, str] = {
    "tester": "write the next test",
    "coder": "make the test pass",
    "refactorer": "clean up",
}
_OPENINGS: Mapping[str, str] = {
    "red": "The bar was red: a test failed that should pass next.",
    "green": "The bar was green: all tests passed, the code was not cleaned up yet.",
    "refactor": "The code was being cleaned up, with all tests passing.",
}
