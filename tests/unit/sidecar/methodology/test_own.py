"""The methodologies that come with Seamark."""

import time

import pytest

from seamark_sidecar.methodology import relay
from seamark_sidecar.methodology.bmad import ACCEPTANCE, Bmad
from seamark_sidecar.methodology.native import Native
from seamark_sidecar.methodology.plugin import Execution, Relay, WorkUnit, WorkUnitResult
from seamark_sidecar.methodology.tdd import Tdd
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.model.phase import Phase
from tests.unit.sidecar.promotion.sample import memory

OWN = [Native(), Tdd(), Bmad()]
OUTPUT = """
I am done for today.

## Remaining
- add the tax
- round it

**Done:**
1. cents
Some words.
- not an item of it
- [x] prices
- [ ] discounts
* [~] vouchers

Blocked:
- the gateway is down
"""


class Pages:
    """A notebook."""

    def __init__(self):
        self.pages = []

    def propose(self, type_, content, *, files=(), tags=()):
        self.pages.append((type_, content, tuple(files), tuple(tags)))


@pytest.mark.parametrize("own", OWN, ids=lambda each: each.id)
class TestEach:
    def test_its_phases_are_read_whatever_their_case(self, own):
        for name, phase in own.phases.items():
            assert own.phase_of(f" {name.upper()} ") is phase

    def test_the_terms_of_all_are_understood_and_others_explore(self, own):
        assert own.phase_of("reflect") is Phase.REFLECT or "reflect" in own.phases
        assert own.phase_of("") is Phase.EXPLORE
        assert own.phase_of("no such phase \ud800") is Phase.EXPLORE

    def test_it_says_where_each_phase_of_work_is(self, own):
        assert {Phase.DEFINE, Phase.IMPLEMENT, Phase.VALIDATE, Phase.REFINE} <= set(
            own.phases.values()
        )

    def test_a_work_unit_has_its_parts_and_a_name(self, own):
        unit = own.work_unit(Execution(unit=("a", "b")))
        assert unit.methodology == own.id
        assert unit.hierarchy == ("a", "b")
        assert "a" in unit.label
        assert "b" in unit.label
        assert own.work_unit(Execution(task="Add tax")).label == "Add tax"
        assert own.work_unit(Execution()) == WorkUnit(methodology=own.id)

    def test_relays_lead_from_one_role_to_another(self, own):
        for each in own.relays():
            assert each.from_role != each.to_role
            text = own.relay_text([memory(type=MemoryType.REQUIREMENT)], each.to_role)
            wanted = not each.types or MemoryType.REQUIREMENT in each.types
            assert not wanted or "Prices are in cents." in text
        assert own.relay_text([memory()], "nobody") == ""
        assert own.relay_text([], own.relays()[0].to_role) == ""

    def test_lists_say_where_the_work_stands(self, own):
        state = own.work_state(OUTPUT)
        assert state["open"] == ("add the tax", "round it", "discounts")
        assert state["done"] == ("cents", "prices")
        assert state["current"] == ("vouchers",)
        assert state["blocked"] == ("the gateway is down",)
        text = own.work_state_text(state)
        assert "Still to do:\n- add the tax\n- round it" in text
        assert "Blocked by: the gateway is down" in text

    def test_a_text_without_lists_says_nothing(self, own):
        assert own.work_state("All is well.\n\n- nothing here\n") == {}
        assert own.work_state_text({}) == ""

    def test_a_state_that_makes_no_sense_is_told_as_far_as_it_does(self, own):
        odd = {"open": 7, "done": ["x", 3, {"a": 1}], "current": None, "colour": [], "status": 1}
        assert own.work_state_text(odd) == "Done: x"

    def test_a_unit_that_failed_is_proposed_with_its_reason(self, own):
        notebook = Pages()
        unit = WorkUnit(methodology=own.id, hierarchy=("7",), label="Number 7")
        result = WorkUnitResult(unit=unit, succeeded=False, reason="no network", files=("a.py",))
        own.completed(Execution(), result, notebook)
        ((type_, content, files, _),) = notebook.pages
        assert type_ is MemoryType.WORK_UNIT_OUTCOME
        assert "Number 7" in content
        assert "no network" in content
        assert files == ("a.py",)

    def test_hostile_output_takes_time_by_its_length(self, own):
        for output in (
            "- [ ] " + "x" * 65_000,
            "ab" + " " * 65_000 + "x",
            "- " * 30_000,
            "Status" + "\t" * 60_000,
            "# " + "a " * 30_000 + ":",
            "\n".join("- [x] y" for _ in range(60_000)),
        ):
            start = time.process_time()
            state = own.work_state(output)
            assert time.process_time() - start < 0.5
            assert len(own.work_state_text(state)) < 20_000


def test_native_phases_are_those_of_its_design():
    assert Native().phase_of("qa_fix") is Phase.REFINE
    assert Native().phase_of("spec") is Phase.DEFINE
    label = Native().work_unit(Execution(unit=("042", "3"))).label
    assert label == "Spec 042 / Subtask 3"


def test_red_is_where_tests_are_defined_and_the_colour_is_kept():
    tdd = Tdd()
    assert tdd.phase_of("red") is Phase.DEFINE
    state = tdd.work_state("So far so good.\nRED: test_cart.py::test_total\n")
    assert state == {"colour": "red", "current": "test_cart.py::test_total"}
    assert "The bar was red" in tdd.work_state_text(state)
    notebook = Pages()
    unit = WorkUnit(methodology="tdd")
    tdd.completed(Execution(), WorkUnitResult(unit=unit, succeeded=True), notebook)
    assert notebook.pages == []


def test_a_storys_status_is_kept():
    bmad = Bmad()
    state = bmad.work_state("# Story 1.2\n**Status:** Ready for Review\n")
    assert state == {"status": "ready for review"}
    assert "ready for review" in bmad.work_state_text(state)
    assert bmad.work_unit(Execution(unit=("1", "2", "3", "4"))).label == (
        "Epic 1 / Story 2 / Task 3 / Task 4"
    )
    assert any(ACCEPTANCE.name in each.types for each in bmad.relays())


def test_what_is_handed_on_is_short():
    many = [memory(f"Fact {number}. " + "x" * 1000) for number in range(40)]
    text = relay.told(many, "Know:")
    assert len(text) < 6000
    assert text.endswith("- and 28 more")
    assert relay.chosen([Relay(from_role="a", to_role="b", types=("decision",))], many, "b") == []
