"""What the agent itself asked to be remembered."""

from seamark_sidecar.observer.signals.recorded import LONGEST_CONTENT

from .sight import recorded, watched


def test_a_record_becomes_a_candidate_of_its_type():
    (candidate,) = watched(
        recorded("  Prices are\n in cents. ", "decision", ("a.py",), ("money",))
    ).candidates()
    assert candidate.content == "Prices are in cents."
    assert (candidate.type, candidate.source) == ("decision", "agent_explicit")
    assert (candidate.files, candidate.tags) == (("a.py",), ("money",))


def test_the_same_record_twice_is_one_candidate():
    pad = watched(recorded("Prices are in cents."), recorded("prices are in CENTS!"))
    assert len(pad.candidates()) == 1


def test_records_in_any_script_are_told_apart():
    pad = watched(recorded("价格以分为单位"), recorded("Цены в копейках"), recorded("!!!"))
    assert len({each.key for each in pad.candidates()}) == 3


def test_a_record_is_cut_to_the_size_of_a_memory():
    (candidate,) = watched(recorded("x" * 60_000)).candidates()
    assert len(candidate.content) == LONGEST_CONTENT
