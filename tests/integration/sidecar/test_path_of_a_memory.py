"""From what an agent did to what the next one is told."""

import pytest

from seamark import MemoryRecorded, SessionOutcome
from seamark.events import (
    Outcome,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
)
from seamark.injections import SessionState
from seamark.wire.v1 import operator_pb2
from seamark.wire.v1 import sidecar_pb2 as wire

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.", files=("src/cart.py",))


def read(session, path, call_id="r1"):
    session.observe(
        ToolCalled(call_id=call_id, tool="read_file", arguments_json=f'{{"path": "{path}"}}')
    )
    session.observe(ToolReturned(call_id=call_id, outcome=Outcome.OK, result="..."))


def fail_twice(session):
    for number in (1, 2):
        session.observe(
            ToolCalled(call_id=f"t{number}", tool="bash", arguments_json='{"command": "pytest"}')
        )
        session.observe(
            ToolReturned(
                call_id=f"t{number}", outcome=Outcome.OK, result="E   KeyError: 7\nexit code 1"
            )
        )
        session.observe(StepCompleted())


@pytest.fixture
def client(shared):
    return shared.client()


def start(client, project, **facts):
    session = client.start_session(project_name=project, **facts)
    assert client.why_without_memory == ""
    return session


def test_nothing_is_known_before_the_work_is_validated(shared, client, project):
    first = start(client, project)
    answer = first.record(CENTS)
    assert answer == "Noted as gotcha. It becomes memory once this session is validated."
    assert first.search("prices").hits == ()

    pending = first.complete()
    assert pending.state is SessionState.PENDING
    assert "1 finding held back until the work is validated" in pending.line
    assert shared.memories(project) == []
    assert shared.explain(first.id).state == "pending"
    assert not start(client, project).start.system

    closed = first.report_validation(True)
    assert closed.state is SessionState.CLOSED
    assert [each.label for each in closed.learnt] == ["gotcha: Prices are in cents."]
    assert closed.line == "used 0 memories, learnt 1"
    (memory,) = shared.memories(project)
    assert (memory.content, memory.source, list(memory.files)) == (
        "Prices are in cents.",
        "agent_explicit",
        ["src/cart.py"],
    )


def test_the_next_session_is_told_where_it_matters(shared, client, project):
    first = start(client, project)
    first.record(CENTS)
    first.complete(validated=True)

    second = start(client, project)
    assert "Using memory of 1 session on this project." in second.start.system.text
    assert not second.prepare_step(1)
    read(second, "src/other.py", "r0")
    assert not second.prepare_step(2)
    read(second, "src/cart.py")
    beside = second.augment_tool_result("r1")
    assert "Prices are in cents. (1 session)" in beside.text
    assert beside.citations[0].reason == "warns about src/cart.py"
    assert not second.prepare_step(3)

    third = start(client, project)
    read(third, "src/cart.py")
    block = third.prepare_step(2)
    assert "Prices are in cents. (1 session)" in block.text
    assert third.prepare_step(3).citations == block.citations
    assert not third.augment_tool_result("r1")

    told = third.complete(validated=True)
    assert [each.memory_id for each in told.used] == [block.citations[0].memory_id]
    assert told.line == "used 1 memory, learnt 0"
    explained = shared.explain(third.id)
    (shown,) = explained.injections
    assert (shown.point, shown.step, shown.reason) == (
        "prepare_step",
        2,
        "about src/cart.py, touched lately",
    )


def test_what_was_learnt_is_found_by_searching(client, project):
    first = start(client, project)
    first.record(CENTS)
    first.record(MemoryRecorded(type="decision", content="Tax is rounded last."))
    first.complete(validated=True)
    second = start(client, project)
    found = second.search("which prices?")
    assert [each.content for each in found.hits] == ["Prices are in cents."]
    assert "Prices are in cents." in found.text
    assert second.search("which prices?").hits[0].shown
    assert "(shown before)" in second.search("which prices?").text
    assert second.search("prices", types=["decision"]).hits == ()
    assert len(second.search("prices", files=["src/cart.py"]).hits) == 1
    assert second.search("nothing of the kind").text.startswith("No memory matches")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"validated": False}, "the work was not validated"),
        ({"outcome": SessionOutcome.FAILURE, "validated": True}, "the session ended with failure"),
        ({"outcome": SessionOutcome.CANCELLED}, "the session ended with cancelled"),
    ],
)
def test_a_session_that_failed_teaches_nothing(shared, client, project, end, reason):
    session = start(client, project)
    session.record(CENTS)
    told = session.complete(**end)
    assert told.state is SessionState.CLOSED
    assert told.line == f"used 0 memories, learnt 0, discarded 1 ({reason})"
    assert shared.memories(project) == []
    (fate,) = shared.explain(session.id).candidates
    assert (fate.fate, fate.reason, fate.signal) == ("discarded", reason, "recorded")
    # And it does not count as a session that found it.
    assert not start(client, project).start.system


def test_a_validation_that_comes_late_and_failed_discards(shared, client, project):
    session = start(client, project)
    session.record(CENTS)
    session.complete()
    assert session.report_validation(False).state is SessionState.CLOSED
    assert shared.memories(project) == []


def test_validating_an_open_session_ends_it(shared, client, project):
    session = start(client, project)
    session.record(CENTS)
    assert len(session.report_validation(True).learnt) == 1


def test_what_the_agent_took_back_is_learnt(shared, client, project):
    session = start(client, project)
    read(session, "src/tax.py")
    session.observe(
        TextProduced(
            kind=TextKind.REASONING,
            text="Wait, let me check. I was wrong about tax.py: it rounds in cents. Now I go on.",
        )
    )
    session.complete(validated=True)
    (memory,) = (
        each for each in shared.memories(project) if each.content.startswith("I was wrong")
    )
    assert memory.content == "I was wrong about tax.py: it rounds in cents. Now I go on."
    assert (memory.source, list(memory.files)) == ("observer_inferred", ["src/tax.py"])
    # Self-corrections are trusted after one session.
    second = start(client, project)
    read(second, "src/tax.py")
    assert second.prepare_step(2)


def test_a_second_session_releases_what_one_could_not(shared, client, project):
    first = start(client, project)
    read(first, "src/cart.py")
    fail_twice(first)
    told = first.complete(validated=True)
    (held,) = told.held_back
    assert held.reason == "error_retry was found in 1 of 2 sessions needed"
    assert "held back 1 (error_retry was found in 1 of 2" in told.line
    assert shared.memories(project) == []
    assert shared.explain(first.id).candidates[0].release.endswith("1 more")

    second = start(client, project)
    read(second, "src/cart.py")
    fail_twice(second)
    (learnt,) = second.complete(validated=True).learnt
    (memory,) = shared.memories(project)
    assert memory.memory_id == learnt.memory_id
    assert "failed 2 times with `KeyError: 7`" in memory.content

    # Two independent sessions found it, so it is shown unasked.
    third = start(client, project)
    read(third, "src/cart.py")
    assert "(2 sessions)" in third.prepare_step(2).text
    fail_twice(third)
    third.complete(validated=True)
    assert len(shared.memories(project)) == 1
    assert shared.explain(third.id).candidates[0].fate == "reinforced"


def test_projects_do_not_see_each_other(client, project):
    first = start(client, project)
    first.record(CENTS)
    first.complete(validated=True)
    assert start(client, project + " of somebody else").search("prices").hits == ()


def test_some_sessions_teach_when_they_end_and_some_never(shared, client, project):
    insights = start(client, project, session_type="insights")
    assert insights.record(CENTS).endswith("It becomes memory when this session ends.")
    assert len(insights.complete().learnt) == 1
    (memory,) = shared.memories(project)
    assert memory.needs_review
    # Found by those who ask, shown to nobody who does not.
    later = start(client, project)
    read(later, "src/cart.py")
    assert not later.prepare_step(2)
    assert "not reviewed yet" in later.search("prices").text

    changelog = start(client, project, session_type="changelog")
    assert changelog.record(CENTS).startswith("Nothing was recorded")
    assert changelog.complete(validated=True).learnt == ()


def test_the_files_that_sessions_need_are_named_at_the_start(client, project):
    for _ in range(3):
        session = start(client, project)
        read(session, "src/cart.py")
        session.complete(validated=True)
    first_message = start(client, project).start.first_message
    assert "Files that most earlier sessions here needed: src/cart.py" in first_message.text


def test_what_a_person_pinned_stands_at_the_start(shared, client, project):
    shared.ask(
        "Remember",
        operator_pb2.RememberRequest(
            project=wire.ProjectHint(name=project),
            type="decision",
            content="We deploy on Fridays.",
            pinned=True,
            interactive=True,
        ),
    )
    session = start(client, project)
    assert "We deploy on Fridays. (user taught)" in session.start.system.text
    assert session.start.system.citations[0].reason == "pinned"


def test_a_session_that_takes_far_more_steps_than_planned_is_noticed(client, project):
    session = start(client, project, planned_steps=2)
    read(session, "src/cart.py")
    for _ in range(5):
        session.observe(StepCompleted())
    told = session.complete(validated=True)
    (held,) = (each for each in told.held_back if "step_overrun" in each.reason)
    assert "1 of 3 sessions" in held.reason


def test_a_failed_session_leaves_its_dead_ends(shared, client, project):
    session = start(client, project)
    session.observe(
        ToolCalled(call_id="e1", tool="write_file", arguments_json='{"path": "src/cart.py"}')
    )
    session.observe(ToolReturned(call_id="e1", outcome=Outcome.OK))
    for _ in range(20):
        session.observe(StepCompleted())
    session.observe(
        TextProduced(
            kind=TextKind.REASONING,
            text="This approach won't work: `cart.py` is generated from the schema, so every edit "
            "of it is lost. Let me try a different approach.",
        )
    )
    session.record(CENTS)
    session.complete(SessionOutcome.FAILURE)
    assert [each.type for each in shared.memories(project)] == ["dead_end"]
