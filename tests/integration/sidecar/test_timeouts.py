"""Sessions that nobody ends, and verdicts that nobody gives."""

import time

import pytest

from seamark.events import MemoryRecorded, Outcome, ToolCalled, ToolReturned, UserSaid
from seamark.wire.v1 import sidecar_pb2 as wire

from .process import PATIENCE, Sidecar, Talk, wait_until

CENTS = MemoryRecorded(type="gotcha", content="Prices are in cents.")
TIMEOUTS = {"SEAMARK_SESSION_TIMEOUT_S": "1.5", "SEAMARK_VALIDATION_TIMEOUT_S": "1"}


@pytest.fixture(scope="module")
def hasty(short_directory):
    """A sidecar that waits for a second only."""
    sidecar = Sidecar(short_directory(), **TIMEOUTS)
    try:
        yield sidecar.start()
    finally:
        sidecar.end()


def failing(number):
    return (
        ToolCalled(call_id=f"t{number}", tool="bash", arguments_json='{"command": "pytest"}'),
        ToolReturned(call_id=f"t{number}", outcome=Outcome.ERROR, result="KeyError: 7"),
    )


def test_time_runs_out_for_those_that_are_silent_and_for_nobody_else(hasty):
    silent = Talk(hasty, project="silent")
    silent.ingest(silent.batch(CENTS))
    pending = Talk(hasty, project="pending")
    pending.complete(CENTS)
    lively = Talk(hasty, project="lively")
    terminals = [Talk(hasty, project="terminal", session_type="terminal") for _ in range(2)]
    for terminal in terminals:
        terminal.ingest(terminal.batch(*failing(1), *failing(2)))
    # Told from a clock that is wrong by years.
    ancient = Talk(hasty, project="ancient")
    batch = ancient.batch(CENTS)
    batch.events[0].observe_time.FromSeconds(1)

    number = 1
    end = time.monotonic() + PATIENCE
    while any(hasty.explain(each.id).state != "closed" for each in (silent, pending, *terminals)):
        assert time.monotonic() < end
        lively.ingest(lively.batch(UserSaid(text="here"), first=number))
        ancient.ingest(batch)
        number += 1
        time.sleep(0.05)

    ended = hasty.explain(silent.id)
    assert ended.state == "closed"
    assert ended.candidates[0].reason == "the session fell silent and was ended"
    ended = hasty.explain(pending.id)
    assert ended.state == "closed"
    assert ended.candidates[0].reason == "nobody reported a validation in time"
    assert hasty.memories("silent") == hasty.memories("pending") == []
    # Silence is how these end, and what two of them found is learnt.
    assert len(hasty.memories("terminal")) == 1

    assert hasty.explain(lively.id).state == "open"
    assert hasty.explain(ancient.id).state == "open"
    passed = wire.CompleteSessionRequest.VALIDATION_PASSED
    assert len(ancient.complete(validation=passed).learnt) == 1
    # Those that come too late are told so.
    assert pending.validate(passed=True).state == wire.SessionSummary.STATE_CLOSED
    (late,) = silent.ingest(silent.batch(CENTS, first=2))
    assert late.rejected_reason == "SESSION_CLOSED"


def test_a_session_that_was_silent_while_no_sidecar_ran_is_ended_too(own):
    sidecar = own(**TIMEOUTS).start()
    talk = Talk(sidecar, project="shop")
    talk.ingest(talk.batch(CENTS))
    sidecar.kill()
    time.sleep(1.6)
    sidecar.start()
    wait_until(lambda: sidecar.explain(talk.id).state == "closed")
    assert sidecar.explain(talk.id).candidates[0].fate == "discarded"
