"""A plugin that fails does so alone."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from seamark_sidecar.methodology.contained import Contained, Nonsense
from seamark_sidecar.methodology.native import Native
from seamark_sidecar.methodology.plugin import (
    Execution,
    Relay,
    TypeDefinition,
    WorkUnit,
    WorkUnitResult,
)
from seamark_sidecar.model.phase import Phase
from tests.unit.sidecar.promotion.sample import memory


class Kanban(Native):
    """A sound one."""

    id = "kanban"
    name = "Kanban"
    phases = MappingProxyType({"doing": Phase.IMPLEMENT})
    types = (TypeDefinition(name="card", description="A card."),)


ODD: Any = (1, 2)
ASKED = {
    "phase_of": lambda plugin: plugin.phase_of("coding"),
    "work_unit": lambda plugin: plugin.work_unit(Execution(unit=("a",))),
    "relays": lambda plugin: plugin.relays(),
    "relay_text": lambda plugin: plugin.relay_text([memory()], "coder"),
    "work_state": lambda plugin: plugin.work_state("- [ ] x"),
    "work_state_text": lambda plugin: plugin.work_state_text({"open": ["x"]}),
    "completed": lambda plugin: plugin.completed(
        Execution(), WorkUnitResult(unit=WorkUnit(methodology="x"), succeeded=True), None
    ),
}
OTHERWISE = {
    "phase_of": Phase.IMPLEMENT,
    "work_unit": WorkUnit(methodology="kanban", hierarchy=("a",), label="Spec a"),
    "relays": (),
    "relay_text": "",
    "work_state": {},
    "work_state_text": "",
    "completed": None,
}


def odd(name, answer):
    """A plugin whose one answer is not as it should be."""

    def call(self, *rest):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return Contained(type("Odd", (Kanban,), {name: call})())


def test_a_sound_plugin_is_asked():
    plugin = Contained(Kanban())
    assert plugin.id == "kanban"
    assert plugin.phases == {"doing": Phase.IMPLEMENT}
    assert plugin.phase_of("doing") is Phase.IMPLEMENT
    assert [each.name for each in plugin.types] == ["card"]
    assert plugin.work_state("- [ ] x") == {"open": ["x"]}
    assert plugin.work_state_text({"open": ["x"]}) == "Still to do: x"
    assert len(plugin.relays()) == 3
    assert plugin.faults == {}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), RecursionError()])
def test_one_that_raises_is_answered_for(name, error):
    plugin = odd(name, error)
    assert ASKED[name](plugin) == OTHERWISE[name]
    assert list(plugin.faults) == [name]
    assert type(error).__name__ in plugin.faults[name]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("phase_of", "implement"),
        ("phase_of", None),
        ("work_unit", {"label": "x"}),
        ("work_unit", WorkUnit(methodology="x", hierarchy=ODD)),
        ("work_unit", WorkUnit(methodology="x", label=ODD)),
        ("relays", None),
        ("relays", "relay"),
        ("relays", [{"from": "a"}]),
        ("relays", [Relay(from_role="a", to_role=ODD)]),
        ("relay_text", None),
        ("work_state", ["x"]),
        ("work_state", {"x": object()}),
        ("work_state", {3: "x"}),
        ("work_state_text", 7),
    ],
)
def test_one_that_makes_no_sense_is_answered_for(name, answer):
    plugin = odd(name, answer)
    assert ASKED[name](plugin) == OTHERWISE[name]
    assert list(plugin.faults) == [name]


def test_endless_and_bottomless_answers_are_cut():
    def endless():
        while True:
            yield Relay(from_role="a", to_role="b")

    assert odd("relays", endless()).relays() == ()
    nested: dict[str, object] = {}
    for _ in range(50):
        nested = {"x": nested}
    assert odd("work_state", nested).work_state("") == {}
    assert len(odd("relay_text", "x" * 10**6).relay_text([], "coder")) == 8000
    assert odd("work_state", {"x": float("nan")}).work_state("") == {"x": None}


def test_a_table_of_its_own_that_makes_no_sense_is_left_out():
    for name, value in (
        ("phases", {"doing": "implement"}),
        ("phases", 3),
        ("types", [{"name": "card"}]),
        ("types", [TypeDefinition(name="card", description="x", half_life=-1)]),
        ("types", [TypeDefinition(name="card", description="x", half_life=float("nan"))]),
        ("types", [TypeDefinition(name="card", description="x", weights={Phase.DEFINE: 99})]),
        ("types", [TypeDefinition(name="card", description="x", fields={"a": (ODD, True)})]),
        ("types", [TypeDefinition(name="card", description="x", fields=ODD)]),
        ("name", 3),
    ):
        plugin = Contained(type("Odd", (Kanban,), {name: value})())
        assert name in plugin.faults
        assert plugin.phase_of("doing") is Phase.IMPLEMENT or name == "phases"


@pytest.mark.parametrize("id_", ["", "Has Capitals", "with space", "x" * 100, 7, "größe", "-\n"])
def test_an_id_that_cannot_be_used_is_refused(id_):
    with pytest.raises(Nonsense):
        Contained(type("Odd", (Kanban,), {"id": id_})())


def test_a_plugin_that_lacks_something_is_refused():
    with pytest.raises(Nonsense, match="completed"):
        Contained(type("Odd", (Kanban,), {"completed": None})())


def test_the_example_of_the_documentation_is_sound():
    page = Path(__file__).parents[4] / "docs" / "methodologies.md"
    example = page.read_text(encoding="utf-8").split("```python\n")[2].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(example, str(page), "exec"), names)
    plugin = Contained(names["Kanban"]())
    assert plugin.phase_of("doing") is Phase.IMPLEMENT
    assert [each.to_role for each in plugin.relays()] == ["reviewer"]
    assert plugin.faults == {}
