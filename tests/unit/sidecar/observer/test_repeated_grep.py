"""The same search again and again."""

from dataclasses import replace

import pytest

from seamark.events import Outcome, ToolCalled
from seamark_sidecar.observer.calls.use import Action
from seamark_sidecar.observer.signals.repeated_grep import MOST_QUERIES, RepeatedGrep, normalised

from .doing import edit, grep, read, run, shown


def found(*moments):
    return shown(RepeatedGrep(), *moments)


LOOKED = run("ls")


def test_one_search_is_none():
    assert found(grep("total", step=1)) == []


def test_the_same_search_again_is_one():
    (signal,) = found(grep("total(", step=1, count=0), LOOKED, grep("total(", step=4, count=3))
    assert signal.step == 4
    assert signal.details["count"] == 2
    assert signal.details["match_counts"] == (0, 3)
    assert signal.details["steps"] == (1, 4)
    assert not signal.early


def test_three_times_goes_to_the_head_of_the_queue():
    (signal,) = found(grep("x1", step=1), LOOKED, grep("x1", step=4), LOOKED, grep("x1", step=9))
    assert signal.early


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Total", "total"),
        ("total(", r"total\("),
        ("'total'", "total"),
        (r"^total", "total"),
        ("a  b", "a b"),
    ],
)
def test_spelling_does_not_make_another_search(one, other):
    assert normalised(one) == normalised(other)


def test_another_pattern_is_another_search():
    assert found(grep("total", step=1), LOOKED, grep("totals", step=2)) == []


def test_another_place_is_another_search():
    assert found(grep("total", "a.py", step=1), LOOKED, grep("total", "b.py", step=2)) == []


def told(moment, words):
    """The call of the search, in these words, and its return."""
    body = ToolCalled(call_id=moment.use.call_id, tool="Grep", arguments_json=words)
    return replace(moment, body=body, result=None), moment


def test_a_closer_look_at_the_same_matches_is_none():
    one, other = grep("total", step=1, count=9), grep("total", step=2, count=9)
    assert found(*told(one, '{"-A": 1}'), *told(other, '{"-A": 9}')) == []


def test_the_same_search_in_the_same_words_is_one():
    one, other = grep("total", step=1, count=9), grep("total", step=2, count=9)
    assert len(found(*told(one, "{}"), *told(other, "{}"))) == 1


def test_the_same_search_right_after_it_found_nothing_is_one():
    assert len(found(grep("total", step=1, count=0), grep("total", step=2, count=0))) == 1


def test_twice_in_one_step_is_once():
    assert found(grep("total", step=1), LOOKED, grep("total", step=1)) == []


def test_a_look_at_what_was_changed_is_none():
    moments = (grep("total", "src", step=1), edit("src/cart.py", 2), grep("total", "src", step=3))
    assert found(*moments) == []
    assert found(grep("total", step=1), edit("src/cart.py", 2), grep("total", step=3)) == []


def test_a_change_elsewhere_does_not_excuse_it():
    moments = (grep("total", "src", step=1), edit("docs/a.py", 2), grep("total", "src", step=3))
    assert len(found(*moments)) == 1


def test_what_is_gone_since_was_changed():
    assert found(grep("total", step=1, count=3), LOOKED, grep("total", step=9, count=0)) == []


def test_after_a_script_the_code_may_be_another():
    for between in (run("python fix.py"), run("git checkout a.py", reverted=("a.py",))):
        assert found(grep("total", "a.py", step=1), between, grep("total", "a.py", step=3)) == []


def shell(command, step, pattern="total"):
    return run(command, "x", step, action=Action.SEARCH_TEXT, patterns=(pattern,))


def test_wildcards_name_places_too():
    one, other = "grep total src/*.go", "grep total lib/*.go"
    assert found(shell(one, 1), LOOKED, shell(other, 2)) == []
    assert len(found(shell(one, 1), LOOKED, shell(one, 2))) == 1


def test_a_search_of_some_lines_is_none():
    moments = [shell(f"sed -n '{n},{n + 9}p' a.py | grep total", n) for n in (1, 10)]
    assert found(moments[0], LOOKED, moments[1]) == []


def test_a_search_that_was_refused_is_none():
    refused = run(
        "grep total",
        "Permission to use Bash has been denied",
        2,
        action=Action.SEARCH_TEXT,
        patterns=("total",),
        outcome=Outcome.ERROR,
    )
    assert found(shell("grep total", 1), LOOKED, refused) == []


def test_what_finally_worked_is_kept():
    (signal,) = found(
        grep("total", step=1, count=0),
        LOOKED,
        grep("total", step=2, count=0),
        grep("sum_of", "src", step=3, count=1, found=("src/cart.py",)),
        read("src/cart.py", step=4),
    )
    assert signal.details["worked"] == "sum_of"
    assert signal.details["led_to"] == "src/cart.py"
    assert signal.files == ("src/cart.py",)
    assert "what worked was `sum_of` in `src`, which led to `src/cart.py`" in signal.content


def test_reading_something_else_shows_nothing_to_have_worked():
    (signal,) = found(
        grep("total", step=1),
        LOOKED,
        grep("total", step=2, found=("src/cart.py",), count=1),
        read("other.py", step=3),
    )
    assert signal.details["worked"] == ""
    assert signal.content == ""
    assert signal.type is None


def test_what_is_never_found_is_said():
    (signal,) = found(grep("total", step=1, count=0), LOOKED, grep("total", step=2, count=0))
    assert signal.content.endswith("and find nothing.")
    assert signal.type == "module_insight"


def test_the_time_between_is_kept():
    (signal,) = found(grep("xy", step=1, time=10.0), LOOKED, grep("xy", step=2, time=12.5))
    assert signal.details["ms_between"] == (2500,)


def test_the_key_is_the_same_in_another_session():
    (one,) = found(grep("Total", step=1), LOOKED, grep("total", step=2))
    (other,) = found(grep("total", step=7), LOOKED, grep("total", step=9))
    assert one.key == other.key


def test_many_searches_keep_their_bound():
    detector = RepeatedGrep()
    for number in range(5 * MOST_QUERIES):
        detector.see(grep(f"name{number}", step=number))
    assert detector.size() <= 800 * MOST_QUERIES
