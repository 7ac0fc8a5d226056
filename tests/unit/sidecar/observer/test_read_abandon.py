"""Files gone back to and never changed."""

from seamark_sidecar.observer.signals.read_abandon import ReadAbandon

from .doing import asked, called, edit, read, shown, stepped


def found(*moments):
    return shown(ReadAbandon(), *moments)


END = stepped(30)


def test_a_file_gone_back_to_and_left_is_one():
    (signal,) = found(
        asked("add a feature"),
        read("github.ts", step=1),
        read("index.ts", step=2),
        read("github.ts", step=3),
        read("issues.ts", step=4),
        edit("issues.ts", 5),
        END,
    )
    assert signal.files == ("github.ts", "issues.ts")
    assert signal.details["visits"] == 2
    assert signal.details["files_read_after"] == ("issues.ts",)
    assert signal.details["went_to"] == "issues.ts"
    assert signal.details["task_type"] == "feature"
    assert signal.content == (
        "`github.ts` was gone back to 2 times and never changed; "
        "the change was made in `issues.ts`."
    )


def test_page_after_page_is_one_visit():
    moments = (
        read("a.py", step=1),
        read("a.py", step=2),
        read("a.py", step=3),
        read("b.py", step=4),
    )
    assert found(*moments, END) == []


def test_a_file_that_is_changed_later_was_not_abandoned():
    moments = (
        read("a.py", step=1),
        read("b.py", step=2),
        read("a.py", step=3),
        read("b.py", step=4),
    )
    assert found(*moments, edit("a.py", 5), edit("b.py", 6), END) == []


def test_a_file_that_was_changed_before_was_not_abandoned():
    moments = (edit("a.py", 0), read("a.py", step=1), read("b.py", step=2), read("a.py", step=3))
    assert found(*moments, edit("b.py", 4), END) == []


def test_the_time_spent_on_it_is_kept():
    (signal,) = found(
        read("a.py", step=1, time=10.0),
        called(2, 14.0),
        read("b.py", step=2, time=15.0),
        called(3, 16.0),
        read("a.py", step=3, time=20.0),
        called(4, 21.5),
        edit("c.py", 4, time=22.0),
        END,
    )
    assert signal.details["read_ms"] == 5500


def test_what_was_read_at_the_very_end_may_yet_be_changed():
    moments = (read("a.py", step=1), read("b.py", step=2), read("a.py", step=3), edit("b.py", 4))
    assert found(*moments) == []


def test_without_a_change_anywhere_nothing_is_proposed():
    moments = (
        read("a.py", step=1),
        read("b.py", step=2),
        read("a.py", step=3),
        read("c.py", step=4),
    )
    (signal,) = found(*moments, END)
    assert signal.type is None
