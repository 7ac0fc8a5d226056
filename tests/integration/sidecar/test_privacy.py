"""What never reaches a disk, and what never reaches the log."""

import json
import os
import sys
from pathlib import Path

import grpc
import pytest

from seamark.events import (
    FileChanged,
    MemoryRecorded,
    Outcome,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UserSaid,
)
from seamark.wire.v1 import operator_pb2
from seamark.wire.v1 import sidecar_pb2 as wire

from . import poisoned
from .process import Talk, refused

GITHUB = "ghp_" + "a1B2c3D4e5" * 4
AWS = "AKIA" + "Z9Y8X7W6V5U4T3S2"
PASSWORD = "hunter2-correct!horse"
SECRETS = [GITHUB, AWS, PASSWORD]
PASSED = wire.CompleteSessionRequest.VALIDATION_PASSED


def leaks():
    """Every text an agent can report, each with secrets in it."""
    said = f"token {GITHUB}, key {AWS}, password = '{PASSWORD}'"
    arguments = json.dumps({"command": f"curl -H 'Authorization: token {GITHUB}'", "path": AWS})
    return [
        UserSaid(text=said),
        ToolCalled(call_id="c1", tool="bash", arguments_json=arguments),
        ToolReturned(call_id="c1", outcome=Outcome.ERROR, result=f"Error: bad token {GITHUB}"),
        ToolCalled(call_id="c2", tool="bash", arguments_json=arguments),
        ToolReturned(call_id="c2", outcome=Outcome.ERROR, result=f"Error: bad token {GITHUB}"),
        TextProduced(kind=TextKind.REASONING, text=f"I was wrong about {said}."),
        MemoryRecorded(type="gotcha", content=said, files=(f"{AWS}.txt",), tags=(GITHUB,)),
        FileChanged(path=f"src/{GITHUB}.py"),
    ]


@pytest.mark.parametrize("validation", [PASSED, wire.CompleteSessionRequest.VALIDATION_FAILED])
def test_no_secret_reaches_a_file(own, validation):
    sidecar = own().start()
    talk = Talk(
        sidecar,
        project=f"https://me:{PASSWORD}@git.example/shop",
        role=f"coder with {GITHUB}",
        task=f"use {AWS}",
    )
    assert talk.ingest(talk.batch(*leaks()))[0].acknowledged_count == len(leaks())
    label = wire.CheckpointRequest(events=talk.batch(), label=f"unit {GITHUB}")
    sidecar.ask("Checkpoint", label)
    talk.prepare(5)

    def clean():
        raw = sidecar.bytes_on_disk() + sidecar.said().encode()
        return not any(secret.encode() in raw for secret in SECRETS)

    # In the journal and its log, while the session is open; in the record after it.
    assert clean()
    assert sidecar.status().redacted_secret_count >= 10
    summary = talk.complete(validation=validation)
    assert clean()
    sidecar.stop()
    assert clean()
    if validation == PASSED:
        assert len(summary.learnt) >= 2
        stored = b"[redacted:github-token]"
        assert stored in sidecar.bytes_on_disk()


def test_a_secret_that_a_person_stores_is_refused_with_its_place(shared, project):
    hint = wire.ProjectHint(name=project)
    request = operator_pb2.RememberRequest(project=hint, content=f"use {GITHUB}")
    with refused("SECRET_FOUND", grpc.StatusCode.INVALID_ARGUMENT) as said:
        shared.ask("Remember", request)
    assert "github-token at character 5" in said[0]
    assert GITHUB not in said[0]
    request.redact = True
    answer = shared.ask("Remember", request)
    assert answer.memory.content == "use [redacted:github-token]"
    assert answer.redacted_count == 1
    with refused("SECRET_FOUND"):
        shared.ask("Remember", operator_pb2.RememberRequest(project=hint, content="x", tags=[AWS]))


CONTENT = "the quick brown content of a memory"


def test_the_log_has_ids_and_never_contents(own):
    sidecar = own(SEAMARK_LOG_LEVEL="debug").start()
    talk = Talk(sidecar, project="private name", task=CONTENT, role=CONTENT)
    talk.ingest(talk.batch(UserSaid(text=CONTENT), MemoryRecorded(type="gotcha", content=CONTENT)))
    talk.prepare(5)
    sidecar.ask("Search", wire.SearchRequest(events=talk.batch(), query=CONTENT))
    for content, reason in (
        (CONTENT * 900, "BAD_REQUEST"),
        (f"{CONTENT} {GITHUB}", "SECRET_FOUND"),
    ):
        request = operator_pb2.RememberRequest(
            project=wire.ProjectHint(name="private name"), content=content
        )
        with refused(reason):
            sidecar.ask("Remember", request)
    with refused("UNKNOWN_SESSION"):
        sidecar.explain(CONTENT)
    talk.complete(validation=PASSED)
    sidecar.stop()
    said = sidecar.said()
    assert "call_refused" in said
    assert CONTENT[:15] not in said
    assert "private name" not in said
    for line in said.splitlines():
        assert {"event", "level", "timestamp"} <= set(json.loads(line))


def test_a_fault_of_ours_is_logged_and_told_without_contents(own):
    sidecar = own().start((sys.executable, str(Path(poisoned.__file__))))
    talk = Talk(sidecar, project="shop")
    with pytest.raises(grpc.RpcError) as caught:
        talk.ingest(talk.batch(UserSaid(text=f"{poisoned.STUMBLE}: {CONTENT}")))
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert caught.value.details() == "the sidecar has a fault of its own: ValueError"
    failed = next(json.loads(line) for line in sidecar.said().splitlines() if "call_failed" in line)
    assert failed["error"] == "ValueError"
    assert any(place.startswith("intake.py:") for place in failed["at"])
    assert CONTENT not in sidecar.said()
    # The others go on.
    assert talk.ingest(talk.batch(UserSaid(text="fine"), first=2))[0].acknowledged_count == 1


def test_a_log_that_nobody_reads_any_more_disturbs_nobody(own):
    sidecar = own()
    reading, writing = os.pipe()
    os.close(reading)
    sidecar.start(stderr=writing)
    os.close(writing)
    talk = Talk(sidecar, project="shop")
    with refused("WRONG_CAPABILITY"):
        talk.prepare(5, capability=b"wrong")
    assert talk.ingest(talk.batch(UserSaid(text="x")))[0].acknowledged_count == 1
    assert sidecar.stop() < 5
