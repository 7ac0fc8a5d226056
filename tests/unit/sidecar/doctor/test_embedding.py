"""What is said of a running sidecar's index."""

import pytest

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.doctor.embedding import judge_index
from seamark_sidecar.doctor.finding import State

WELL = {"ready": True, "applied_seq": 7, "last_seq": 7, "model": "m"}


@pytest.mark.parametrize(
    ("changes", "state", "named"),
    [
        ({}, State.OK, "up to date (7 changes, m)"),
        ({"ready": False, "applied_seq": 3}, State.WARN, "3 of 7 changes"),
        ({"applied_seq": 3}, State.WARN, "3 of 7 changes"),
        ({"model": "older"}, State.WARN, "made with older"),
        ({"model": ""}, State.WARN, "made with no model, and m is installed"),
        ({"rebuild_count": 1}, State.OK, "up to date"),
        ({"rebuild_count": 5}, State.WARN, "built anew 5 times"),
        ({"fault": "the worker died"}, State.WARN, "the worker died"),
    ],
)
def test_an_index_is_judged(changes, state, named):
    verdict = judge_index(wire.IndexStatus(**{**WELL, **changes}), "m")
    assert verdict.state is state
    assert named in verdict.what
    assert bool(verdict.todo) == (state is not State.OK)
