"""What an app says of the work becomes our terms."""

from seamark_sidecar.methodology.registry import Listed, Registry
from seamark_sidecar.methodology.tdd import Tdd
from seamark_sidecar.model.phase import Phase
from seamark_sidecar.model.session import Work
from seamark_sidecar.sessions.assignment import assigned

REGISTRY = Registry([Listed(methodology=Tdd())])


def test_nothing_said_is_no_place():
    assert assigned(REGISTRY) == Work()


def test_phases_are_read_by_the_methodology():
    assert assigned(REGISTRY, methodology="tdd", phase="red").phase is Phase.DEFINE
    assert assigned(REGISTRY, methodology="tdd", phase="red").stage == "red"
    assert assigned(REGISTRY, phase="coding").phase is Phase.IMPLEMENT


def test_an_unknown_methodology_is_read_as_the_native_one():
    work = assigned(REGISTRY, methodology="scrum", phase="qa_review")
    assert (work.methodology, work.phase) == ("scrum", Phase.VALIDATE)


def test_units_are_cut_at_slashes():
    assert assigned(REGISTRY, unit=" spec_042 /subtask_3//").unit == ("spec_042", "subtask_3")
    deep = assigned(REGISTRY, unit="/".join("x" * 500 for _ in range(50))).unit
    assert len(deep) == 8
    assert all(len(part) == 120 for part in deep)
