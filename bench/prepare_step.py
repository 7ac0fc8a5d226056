"""What `session.prepare_step` takes from the agent before a model call.

The project has 1,000 memories, four to a file, stored through `OperatorService.Remember`. Every
answer must hold at least three. Beside each call, in turn, a unary gRPC echo of the same bytes: a
`grpc.aio` server of its own process that does nothing, the same client library, channel options,
metadata and deadline, a request and an answer of the sizes of the call before.

- settled: all events are acknowledged, the block stays as it is;
- at work: the call carries the four events of a step that read another file, which the sidecar
  decodes, redacts and applies before it decides anew.
A session has 40 steps. The blocking call is compared with a blocking echo, the async twin with one
of `grpc.aio`.

Bar: p50 ≤ 1.5 × the echo for the answer itself (settled); observing four events comes on top and
is shown. Timed with a deadline of 5 s, so that slow answers count as such; how many came within the
default deadline of 50 ms is shown.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from bench import echo
from bench.measure import spread
from bench.report import Report, Row, conclude, parser, times_peer
from bench.sidecar import Sidecar, SidecarFailed
from seamark import (
    Body,
    Client,
    Injection,
    Outcome,
    Session,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
)
from seamark.codec import WIRE, WIRE_KEY, event_to_wire, injection_to_wire
from seamark.link import OPTIONS
from seamark.wire.v1 import events_pb2, operator_pb2, operator_pb2_grpc, sidecar_pb2

COUNT = 1_000
MEMORIES = 1_000
BAR = times_peer(1.5)

LEAST_SHOWN = 3
MEMORIES_A_FILE = 4
STEPS_A_SESSION = 40
DEADLINE = 5.0  # seconds
DEFAULT_DEADLINE = 0.05
PROJECT = "bench"
CAPABILITY_BYTES = 32  # as the sidecar hands them out

_METADATA = ((WIRE_KEY, str(WIRE)),)
_LESSONS = (
    ("gotcha", "{name} keeps its totals in cents; convert before comparing with a price"),
    ("error_pattern", "a KeyError in {name} means that the fixture was not loaded first"),
    ("decision", "{name} retries three times and then gives up, because the queue resends"),
    ("pattern", "tests of {name} patch the clock through the `now` argument, never the module"),
)


@dataclass(slots=True)
class Timings:
    """Seconds of each call and of its echo."""

    calls: list[float] = field(default_factory=list)
    echoes: list[float] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    request_bytes: list[int] = field(default_factory=list)
    answer_bytes: list[int] = field(default_factory=list)

    def note(self, step: Step, injection: Injection, call: float, echo: float) -> None:
        """Takes in one pair; raises SidecarFailed when the answer was too small to count."""
        if len(injection.citations) < LEAST_SHOWN:
            raise SidecarFailed(f"an answer held {len(injection.citations)} memories")
        self.calls.append(call)
        self.echoes.append(echo)
        self.shown.append(len(injection.citations))
        self.request_bytes.append(step.request_bytes)
        self.answer_bytes.append(answer_bytes(injection))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a session, ready for its call."""

    session: Session
    number: int
    request_bytes: int

    def echo_of(self, injection: Injection) -> bytes:
        """The request to the echo that moves the same bytes."""
        return echo.request(self.request_bytes, answer_bytes(injection))


def answer_bytes(injection: Injection) -> int:
    """The size of the answer that brought this."""
    return sidecar_pb2.PrepareStepResponse(injection=injection_to_wire(injection)).ByteSize()


def run(count: int = COUNT, memories: int = MEMORIES) -> Report:
    """Measures both forms, at work and settled."""
    cases: dict[str, Timings] = {}
    with Sidecar() as sidecar, echo.serving(sidecar.directory) as address:
        remember(sidecar.address, memories)
        for name, is_at_work in (("settled", False), ("at work", True)):
            cases[f"prepare_step, {name}"] = _blocking(
                sidecar, address, count, memories, is_at_work
            )
            cases[f"aprepare_step, {name}"] = asyncio.run(
                _async(sidecar, address, count, memories, is_at_work)
            )
    shown = spread(itertools.chain.from_iterable(each.shown for each in cases.values()))
    return Report(
        name="prepare_step",
        counts=(
            f"{count:,} calls a case, {memories:,} memories in the project, "
            f"{shown.least:.0f} to {shown.most:.0f} in an answer"
        ),
        rows=tuple(row for name, each in cases.items() for row in _rows(name, each)),
        notes=(
            "Bytes of request and answer, medians, and share of calls and of echoes within 50 ms: "
            + "; ".join(f"{name} {_sizes(each)}" for name, each in cases.items())
            + ".",
        ),
    )


def remember(address: str, memories: int) -> None:
    """Fills the project as a person at a terminal would."""
    with grpc.insecure_channel(address) as channel:
        stub = operator_pb2_grpc.OperatorServiceStub(channel)
        for number in range(memories):
            kind, lesson = _LESSONS[number % len(_LESSONS)]
            file = number // MEMORIES_A_FILE
            stub.Remember(
                operator_pb2.RememberRequest(
                    project=sidecar_pb2.ProjectHint(name=PROJECT),
                    type=kind,
                    content=lesson.format(name=f"module_{file}"),
                    files=[_path(file)],
                    interactive=True,
                ),
                timeout=DEADLINE,
                metadata=_METADATA,
            )


def _path(file: int) -> str:
    return f"src/module_{file}.py"


def _blocking(
    sidecar: Sidecar, address: str, count: int, memories: int, is_at_work: bool
) -> Timings:
    timings = Timings()
    client = sidecar.client(step_deadline=DEADLINE, session_start_deadline=DEADLINE)
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        ask: Callable[..., bytes] = channel.unary_unary(echo.PATH)
        ask(echo.request(8, 8), timeout=DEADLINE)
        for step in _steps(client, count, memories, is_at_work):
            start = time.perf_counter()
            injection = step.session.prepare_step(step.number)
            answered = time.perf_counter()
            same = step.echo_of(injection)
            asked = time.perf_counter()
            ask(same, timeout=DEADLINE, metadata=_METADATA)
            timings.note(step, injection, answered - start, time.perf_counter() - asked)
    client.close()
    return timings


async def _async(
    sidecar: Sidecar, address: str, count: int, memories: int, is_at_work: bool
) -> Timings:
    timings = Timings()
    client = sidecar.client(step_deadline=DEADLINE, session_start_deadline=DEADLINE)
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        ask: Callable[..., Awaitable[Any]] = channel.unary_unary(echo.PATH)
        await ask(echo.request(8, 8), timeout=DEADLINE)
        for step in _steps(client, count, memories, is_at_work):
            start = time.perf_counter()
            injection = await step.session.aprepare_step(step.number)
            answered = time.perf_counter()
            same = step.echo_of(injection)
            asked = time.perf_counter()
            await ask(same, timeout=DEADLINE, metadata=_METADATA)
            timings.note(step, injection, answered - start, time.perf_counter() - asked)
    client.close()
    return timings


def _steps(client: Client, count: int, memories: int, is_at_work: bool) -> Iterator[Step]:
    """Steps of one session after the other; what is between two of them is not timed."""
    files = memories // MEMORIES_A_FILE
    session: Session | None = None
    for number in range(count):
        if session is None or number % STEPS_A_SESSION == 0:
            session = _session(client, number % files)
        reported = _read(session, number % files, number) if is_at_work else ()
        request = sidecar_pb2.PrepareStepRequest(
            events=_batch(session, reported), step=number % STEPS_A_SESSION + 3
        )
        yield Step(session, request.step, request.ByteSize())
        _flush(client)


def _batch(session: Session, reported: Sequence[Body]) -> events_pb2.EventBatch:
    """What the call carries, for its size."""
    return events_pb2.EventBatch(
        session_id=session.id,
        producer_id=session.producer_id,
        capability=bytes(CAPABILITY_BYTES),
        events=[event_to_wire(1_000, time.time(), body) for body in reported],
    )


def _session(client: Client, file: int) -> Session:
    """A session with its first memories in the block."""
    session = client.start_session(project_name=PROJECT)
    _read(session, file, -1)
    session.prepare_step(2)
    _flush(client)
    return session


def _read(session: Session, file: int, number: int) -> Sequence[Body]:
    """Reports a step in which the agent reads a file."""
    call = f"call_{number}"
    reported: Sequence[Body] = (
        TextProduced(kind=TextKind.REASONING, text="I will see how the totals are kept there."),
        ToolCalled(
            call_id=call, tool="read_file", arguments_json=json.dumps({"path": _path(file)})
        ),
        ToolReturned(
            call_id=call,
            outcome=Outcome.OK,
            result="def total(rows):\n    return sum(row.cents for row in rows)\n" * 10,
        ),
        StepCompleted(input_tokens=2_400, output_tokens=120),
    )
    for body in reported:
        session.observe(body)
    return reported


def _flush(client: Client) -> None:
    if not client.flush(DEADLINE) or client.rejected or client.why_without_memory:
        raise SidecarFailed(f"memory does not work: {client.why_without_memory}")


def _rows(name: str, timings: Timings) -> list[Row]:
    calls = spread(timings.calls).scaled(1e6)
    echoes = spread(timings.echoes).scaled(1e6)
    peer = "aio echo" if name.startswith("a") else "echo"
    return [
        Row(
            figure=f"{name}, p50",
            value=calls.p50,
            unit="µs",
            peer=peer,
            peer_value=echoes.p50,
            bar=BAR if name.endswith("settled") else None,
        ),
        Row(
            figure=f"{name}, p99",
            value=calls.p99,
            unit="µs",
            peer=peer,
            peer_value=echoes.p99,
        ),
    ]


def _sizes(timings: Timings) -> str:
    asked, answered = spread(timings.request_bytes), spread(timings.answer_bytes)
    return (
        f"{asked.p50:.0f} and {answered.p50:.0f}, "
        f"{_share_in_time(timings.calls):.2%} and {_share_in_time(timings.echoes):.2%}"
    )


def _share_in_time(seconds: list[float]) -> float:
    return sum(each <= DEFAULT_DEADLINE for each in seconds) / len(seconds)


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--count", type=int, default=COUNT, help="calls a case")
    options.add_argument("--memories", type=int, default=MEMORIES, help="in the project")
    chosen = options.parse_args()
    return conclude(run(chosen.count, chosen.memories), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
