"""What an agent is shown, where, and how often."""

from dataclasses import dataclass, field

import pytest

from seamark.events import MemoryRecorded
from seamark_sidecar.injection import budget, render
from seamark_sidecar.injection.decide import (
    FIRST_STEP,
    LEAST_CONFIDENCE,
    MOST_AT_START,
    WARNINGS,
    Decider,
    Ledger,
    habits,
    injectable,
)
from seamark_sidecar.model.memory import MemoryType, Source
from seamark_sidecar.model.shown import Point
from seamark_sidecar.model.signal import SignalKind
from seamark_sidecar.retrieval.shelf import Shelf
from tests.unit.sidecar.observer.sight import recorded
from tests.unit.sidecar.promotion.sample import memory

DECIDER = Decider(lambda: "0" * 12)
LATER = FIRST_STEP + 1


@dataclass
class Seen:
    """A session that has these files in sight."""

    files: tuple[str, ...] = ("a.py",)
    records: list[MemoryRecorded] = field(default_factory=list)

    def in_sight(self):
        return self.files

    def files_of(self, call_id):
        return self.files if call_id == "c1" else ()


def about(path="a.py", number=1, content="", **facts):
    text = content or f"fact number {number}"
    return memory(text, f"m_{number:012x}", files=(path,), **facts)


def before_step(shelf, ledger, view=None, step=LATER):
    return DECIDER.before_step(shelf, ledger, view or Seen(), step=step)


def after_tool(shelf, ledger, view=None, call_id="c1"):
    return DECIDER.after_tool(shelf, ledger, view or Seen(), call_id=call_id, step=LATER)


def at_start(shelf, ledger, sessions=0, often=()):
    return DECIDER.at_start(shelf, ledger, sessions=sessions, habits=often)


def cited(injection):
    return [each.memory_id for each in injection.citations]


# What may be shown.


@pytest.mark.parametrize(
    ("facts", "allowed"),
    [
        ({}, True),
        ({"needs_review": True}, False),
        ({"confidence": LEAST_CONFIDENCE - 0.01}, False),
        ({"confidence": LEAST_CONFIDENCE}, True),
        ({"source": Source.USER_TAUGHT, "sessions": ()}, True),
        ({"source": Source.OBSERVER_INFERRED, "signal": SignalKind.ERROR_RETRY}, False),
        (
            {
                "source": Source.OBSERVER_INFERRED,
                "signal": SignalKind.ERROR_RETRY,
                "sessions": ("s1", "s2"),
            },
            True,
        ),
        ({"source": Source.OBSERVER_INFERRED, "signal": SignalKind.SELF_CORRECTION}, True),
        (
            {
                "source": Source.OBSERVER_INFERRED,
                "signal": SignalKind.SELF_CORRECTION,
                "needs_review": True,
            },
            False,
        ),
    ],
)
def test_what_the_system_may_show_unasked(facts, allowed):
    made = about(pinned=True, **facts)
    assert injectable(made) is allowed
    shelf = Shelf([made])
    assert bool(at_start(shelf, Ledger())[0]) is allowed
    assert bool(before_step(shelf, Ledger())) is allowed
    assert bool(after_tool(shelf, Ledger())) is allowed


# Once, across all points.


@pytest.mark.parametrize("first", [at_start, before_step, after_tool])
@pytest.mark.parametrize("second", [before_step, after_tool])
def test_a_memory_is_decided_once_whatever_the_point(first, second):
    shelf, ledger = Shelf([about(pinned=True)]), Ledger()
    shown = first(shelf, ledger)
    assert cited(shown[0] if isinstance(shown, tuple) else shown) == ["m_000000000001"]
    if first is second is before_step:
        return
    assert cited(second(shelf, ledger)) == []
    assert len(ledger.shown) == 1


def test_the_block_before_a_step_stays():
    shelf, ledger = Shelf([about()]), Ledger()
    first = before_step(shelf, ledger)
    again = before_step(shelf, ledger, Seen(files=()), step=LATER + 9)
    assert again == first
    assert ledger.spent == budget.tokens("\n- " + render.line(about()))


def test_what_is_new_joins_what_stands():
    ledger = Ledger()
    before_step(Shelf([about(number=1)]), ledger)
    both = before_step(Shelf([about(number=1), about(number=2)]), ledger)
    assert cited(both) == ["m_000000000001", "m_000000000002"]


def test_each_citation_says_why():
    (citation,) = before_step(Shelf([about()]), Ledger()).citations
    assert citation.label == "gotcha: fact number 1"
    assert "a.py" in citation.reason


def test_a_session_that_starts_again_is_told_the_same():
    shelf, ledger = Shelf([about(number=n, pinned=True) for n in (1, 2, 3)]), Ledger()
    first, _ = at_start(shelf, ledger, sessions=3)
    spent = ledger.spent
    again, _ = at_start(shelf, ledger, sessions=3)
    assert again == first
    assert (len(cited(first)), ledger.spent) == (3, spent)


def test_what_was_shown_elsewhere_is_not_shown_again_at_a_new_start():
    shelf, ledger = Shelf([about(pinned=True)]), Ledger()
    before_step(shelf, ledger)
    assert at_start(shelf, ledger)[0].citations == ()


# Where.


def test_nothing_is_shown_before_the_first_steps_are_done():
    shelf = Shelf([about()])
    assert not before_step(shelf, Ledger(), step=FIRST_STEP - 1)
    assert before_step(shelf, Ledger(), step=FIRST_STEP)


def test_only_files_in_sight_bring_their_memories():
    assert not before_step(Shelf([about("other.py")]), Ledger())
    assert not after_tool(Shelf([about()]), Ledger(), call_id="another call")


@pytest.mark.parametrize("type_", MemoryType)
def test_beside_a_tool_result_stand_only_warnings(type_):
    assert bool(after_tool(Shelf([about(type=type_)]), Ledger())) is (type_ in WARNINGS)


def test_the_start_shows_only_what_is_pinned():
    system, first = at_start(Shelf([about(), about(number=2, pinned=True)]), Ledger(), sessions=2)
    assert cited(system) == ["m_000000000002"]
    assert "Using memory of 2 sessions on this project." in system.text
    assert not first


def test_the_start_of_a_project_without_memory_is_silent():
    assert at_start(Shelf(), Ledger()) == (render_nothing(), render_nothing())


def render_nothing():
    return before_step(Shelf(), Ledger())


def test_the_agents_own_records_are_reflected():
    view = Seen(records=[recorded("Tax is rounded last.")])
    ledger = Ledger()
    shown = before_step(Shelf(), ledger, view, step=1)
    assert "[you recorded in this session] Tax is rounded last." in shown.text
    assert shown.citations == ()
    assert before_step(Shelf(), ledger, view, step=2) == shown


def test_one_long_record_does_not_push_out_everything_else():
    ledger = Ledger()
    view = Seen(records=[recorded("long " * 10_000)])
    shown = before_step(Shelf([about()]), ledger, view)
    assert cited(shown) == ["m_000000000001"]
    assert "you recorded" in shown.text


# How much.


LONG = "words and words " * 200


def many(count, **facts):
    return Shelf([about(number=n, content=f"{n} {LONG}", **facts) for n in range(1, count + 1)])


def test_no_injection_is_larger_than_its_budget():
    pinned = many(20, pinned=True)
    for shelf in (pinned, Shelf([about(number=n, pinned=True) for n in range(99)])):
        system, first = at_start(shelf, Ledger(), sessions=7, often=["p" * 300 + ".py"] * 12)
        step = before_step(shelf, Ledger(), Seen(records=[recorded(LONG)] * 9))
        tool = after_tool(shelf, Ledger())
        for injection in (system, first, step, tool):
            assert 0 < budget.tokens(injection.text) <= budget.MOST_PER_INJECTION


def test_few_memories_are_decided_in_a_step():
    short = Shelf([about(number=n) for n in range(20)])
    assert len(cited(before_step(short, Ledger()))) == budget.MOST_MEMORIES_PER_STEP
    assert len(
        cited(at_start(Shelf([about(number=n, pinned=True) for n in range(20)]), Ledger())[0])
    ) == (MOST_AT_START)


def test_a_long_memory_is_cut_and_not_left_out():
    shown = before_step(many(1), Ledger())
    assert cited(shown) == ["m_000000000001"]
    assert "…" in shown.text


def test_the_oldest_leaves_the_block_when_it_is_full():
    ledger = Ledger()
    shelf = many(9)
    blocks = [cited(before_step(shelf, ledger)) for _ in range(9)]
    assert len(ledger.shown) == 9
    assert blocks[-1] == list(ledger.shown)[-len(blocks[-1]) :]
    assert "m_000000000001" not in blocks[-1]


def test_after_the_sessions_budget_only_dead_ends_are_shown():
    ledger = Ledger()
    shelf = many(60)
    for _ in range(60):
        before_step(shelf, ledger)
    assert budget.MOST_PER_SESSION - 300 < ledger.spent <= budget.MOST_PER_SESSION
    assert len(ledger.shown) < 60
    shelf.put(about(number=100, content=f"gotcha {LONG}"))
    shelf.put(about(number=101, content=f"never again {LONG}", type=MemoryType.DEAD_END))
    assert "m_000000000065" in cited(before_step(shelf, ledger))
    assert "m_000000000064" not in ledger.shown


# After a restart.


def test_a_resumed_ledger_continues_where_it_was():
    shelf = many(4, pinned=True)
    ledger = Ledger()
    before_step(shelf, ledger)
    after_tool(shelf, ledger)
    before = before_step(shelf, ledger, Seen(files=()))
    resumed = Ledger()
    for decision in ledger.shown.values():
        resumed.resume(decision, shelf.get(decision.memory_id))
    assert (resumed.shown, resumed.spent) == (ledger.shown, ledger.spent)
    assert before_step(shelf, resumed, Seen(files=())) == before


def test_a_memory_that_is_gone_leaves_the_resumed_block():
    shelf, ledger = Shelf([about()]), Ledger()
    before_step(shelf, ledger)
    resumed = Ledger()
    (decision,) = ledger.shown.values()
    assert decision.point is Point.PREPARE_STEP
    resumed.resume(decision, None)
    assert not before_step(Shelf(), resumed)


# Files that most sessions need.


@pytest.mark.parametrize(
    ("touched", "sessions", "expected"),
    [
        ({"a.py": 2}, 2, []),
        ({"a.py": 2, "b.py": 3, "c.py": 1}, 3, ["b.py", "a.py"]),
        ({"a.py": 2}, 4, []),
        ({"b.py": 3, "a.py": 3}, 3, ["a.py", "b.py"]),
        ({f"{n}.py": 5 for n in range(30)}, 5, None),
        ({}, 0, []),
    ],
)
def test_habits_are_what_more_than_half_of_three_sessions_touched(touched, sessions, expected):
    found = habits(touched, sessions)
    assert len(found) == 12 if expected is None else found == expected


def test_habits_are_named_in_the_first_message():
    _, first = at_start(Shelf(), Ledger(), sessions=3, often=["a.py", "b<c>.py"])
    assert "needed: a.py, b&lt;c&gt;.py" in first.text
