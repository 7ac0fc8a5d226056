"""An edit taken back."""

import pytest

from seamark_sidecar.observer.calls.use import Action, Touch
from seamark_sidecar.observer.signals.backtrack import MOST_FILES, WITHIN_STEPS, Backtrack

from .doing import edit, read, run, shown, write

OLD = "def total(cart):\n    return sum(cart.lines)\n"
FIRST = "def total(cart):\n    return sum(line.price for line in cart.lines)\n"
SECOND = "def total(cart):\n    return sum(line.price * line.count for line in cart.lines)\n"


def found(*moments):
    return shown(Backtrack(), *moments)


def redone(step=5, path="cart.py", **more):
    return edit(path, step, FIRST, SECOND, **more)


FIRST_EDIT = edit("cart.py", 1, OLD, FIRST)


def test_an_edit_that_replaces_what_an_earlier_one_put_in_is_one():
    (signal,) = found(FIRST_EDIT, redone(5))
    assert signal.step == 5
    assert signal.details["first_step"] == 1
    assert signal.details["steps_between"] == 4
    assert signal.files == ("cart.py",)
    assert signal.type == "gotcha"
    assert "redone" in signal.content


def test_the_smallest_edit_can_be_one():
    assert (
        len(found(edit("cart.py", 1, "a = 1", "a = 2"), edit("cart.py", 3, "a = 2", "a = 3"))) == 1
    )
    assert found(edit("cart.py", 1, "a = 1", "a = 2"), edit("cart.py", 3, "b = 2", "b = 3")) == []


def test_an_edit_of_another_part_is_none():
    assert (
        found(FIRST_EDIT, edit("cart.py", 2, "def tax(cart):\n    pass", "def tax(c):\n    x = 1"))
        == []
    )


def test_an_edit_that_adds_below_what_was_put_in_is_none():
    assert (
        found(FIRST_EDIT, edit("cart.py", 2, FIRST, FIRST + "\n\ndef tax(cart):\n    return 1\n"))
        == []
    )


def test_shared_lines_around_two_edits_do_not_make_one():
    around = "class Cart:\n    currency = 'CHF'\n"
    one = edit("cart.py", 1, around + "    a_value = 1", around + "    a_value = 2")
    two = edit("cart.py", 2, around + "    b_value = 1", around + "    b_value = 2")
    assert found(one, two) == []


def test_imports_that_come_and_go_are_none():
    one = edit("cart.py", 1, "import os", "import os\nimport decimal")
    two = edit("cart.py", 2, "import os\nimport decimal", "import os")
    assert found(one, two) == []


def test_after_many_steps_it_is_new_work():
    assert found(FIRST_EDIT, redone(1 + WITHIN_STEPS)) != []
    assert found(FIRST_EDIT, redone(2 + WITHIN_STEPS)) == []


def test_the_same_lines_in_another_file_are_none():
    assert found(FIRST_EDIT, redone(5, "order.py")) == []


def test_within_one_step_it_is_one_piece_of_work():
    assert found(FIRST_EDIT, redone(1)) == []


def test_scripts_of_the_agents_own_are_rewritten_freely():
    assert found(write("fix.py", 1, FIRST), edit("fix.py", 2, FIRST, SECOND)) == []


def test_a_file_set_back_by_version_control_is_one():
    back = run("git checkout cart.py", step=4, action=Action.VCS, reverted=("cart.py",))
    (signal,) = found(FIRST_EDIT, back)
    assert signal.details["reverted"]
    assert "put back" in signal.content


def test_all_files_set_back_are_each_one():
    back = run("git checkout .", step=4, action=Action.VCS, reverted=(".",))
    assert [each.files[0] for each in found(FIRST_EDIT, edit("b.py", 2), back)] == [
        "cart.py",
        "b.py",
    ]


def test_what_is_put_aside_for_a_look_at_the_old_state_is_none():
    for command in ("git stash", "cp cart.py cart.py.bak && git checkout cart.py"):
        back = run(command, step=4, action=Action.VCS, reverted=("cart.py",))
        assert found(FIRST_EDIT, back) == []


def test_what_is_taken_out_for_a_look_and_put_in_again_is_none():
    out, again = edit("cart.py", 3, FIRST, OLD), edit("cart.py", 5, OLD, FIRST)
    assert len(found(FIRST_EDIT, out)) == 1
    assert found(FIRST_EDIT, out, again) == []


def by_pattern(script, step, replaced="", first=0, last=0):
    touch = Touch("cart.py", Action.EDIT, first, last, replaced)
    command = f"sed -i '{script}' cart.py"
    return run(command, step=step, action=Action.EDIT, touches=(touch,), written=script)


def test_a_pattern_that_finds_what_was_put_in_is_one():
    one = by_pattern("s/old_name()/new_name()/", 1, "old_name()")
    assert len(found(one, by_pattern("s/new_name()/third_name()/", 4, "new_name()"))) == 1
    assert found(one, by_pattern("s/other_name()/third_name()/", 4, "other_name()")) == []


def test_the_same_lines_written_over_are_one():
    one = by_pattern("10,12c\\ x", 1, first=10, last=12)
    assert len(found(one, by_pattern("10,14c\\ y", 4, first=10, last=14))) == 1
    assert found(one, by_pattern("20,22c\\ y", 4, first=20, last=22)) == []
    assert found(one, by_pattern("10i\\ y", 4, first=10, last=10)) == []


def test_lines_below_a_deletion_are_other_lines():
    assert (
        found(
            by_pattern("29,32d", 1, first=29, last=32), by_pattern("31s/aaaa/b/", 3, "aaaa", 31, 31)
        )
        == []
    )


def test_what_is_put_in_to_see_something_is_meant_to_go():
    probe = edit("cart.py", 1, "x = total(cart)", "x = total(cart)\nprint(x)")
    assert found(probe, edit("cart.py", 3, "x = total(cart)\nprint(x)", "x = total(cart)")) == []


def test_what_was_put_in_to_see_something_is_set_back_freely():
    probe = edit("cart.py", 1, "x = total(cart)", "x = total(cart)\nprint(x)")
    assert found(probe, run("git checkout cart.py", step=3, reverted=("cart.py",))) == []


def test_a_pattern_that_keeps_what_it_finds_adds_to_it():
    one = by_pattern("s/if cart:/if cart is not None:/", 1, "if cart:")
    more = by_pattern("s/if cart is not None:/if cart is not None: x/", 3, "if cart is not None:")
    assert found(one, more) == []


def test_lines_written_over_for_a_look_and_again_are_none():
    one = by_pattern("10,12c\\\\ new", 1, first=10, last=12)
    out = by_pattern("10,12c\\\\ old", 3, first=10, last=12)
    again = by_pattern("10,12c\\\\ new", 5, first=10, last=12)
    assert len(found(one, out)) == 1
    assert found(one, out, again) == []


def test_a_new_file_that_takes_shape_is_none():
    assert found(write("new_rates.py", 1, FIRST), write("new_rates.py", 3, SECOND)) == []


def test_a_whole_file_written_anew_is_one():
    assert len(found(write("src/cart.py", 1, FIRST), write("src/cart.py", 3, SECOND))) == 1
    assert (
        found(write("src/cart.py", 1, FIRST), write("src/cart.py", 3, FIRST + "\nrate = 0.25"))
        == []
    )


def test_setting_back_what_was_not_edited_is_none():
    assert found(FIRST_EDIT, run("git checkout x.py", step=4, reverted=("x.py",))) == []


@pytest.mark.parametrize(
    ("between", "cause"),
    [
        ((), "unknown"),
        ((read("tax.py", step=2),), "missing_context"),
        ((edit("order.py", 2),), "cascading_change"),
        ((run("pytest", "E   ValueError: no\nexit code 1", 3),), "wrong_assumption"),
    ],
)
def test_what_happened_between_tells_the_likely_cause(between, cause):
    (signal,) = found(FIRST_EDIT, *between, redone(5))
    assert signal.details["likely_cause"] == cause


def test_the_files_seen_between_are_kept():
    (signal,) = found(read("before.py", step=0), FIRST_EDIT, read("tax.py", step=2), redone(5))
    assert signal.details["files_seen"] == ("tax.py",)
    assert "`tax.py`" in signal.content


def test_a_file_redone_again_and_again_is_one_finding():
    (signal,) = found(FIRST_EDIT, redone(3), edit("cart.py", 5, SECOND, FIRST))
    assert signal.details["count"] == 2


def test_an_edit_that_failed_changed_nothing():
    failed = edit("cart.py", 1, OLD, FIRST, text="String not found\nexit code 1")
    assert found(failed, redone(5)) == []


def test_many_files_are_forgotten_in_their_order():
    detector = Backtrack()
    for number in range(5 * MOST_FILES):
        detector.see(edit(f"f{number}.py", number, OLD, FIRST))
    assert detector.size() <= 2_000 * MOST_FILES + 20_000
    assert shown(detector, redone(5 * MOST_FILES, f"f{5 * MOST_FILES - 1}.py")) != []


def test_several_edits_in_one_call_are_read_together():
    touches = (
        Touch("a.py", Action.EDIT, replaced=OLD),
        Touch("a.py", Action.EDIT, replaced="x = 12345"),
    )
    both = run("apply", step=1, action=Action.EDIT, touches=touches, written=FIRST + "\ny = 12345")
    assert len(found(both, redone(2, "a.py"))) == 1
