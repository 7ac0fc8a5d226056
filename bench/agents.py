"""One process of agents that work through everything that happens to their sidecar.

It is started by `bench.kills`, waits for its order on standard input, and prints what its sessions
saw as one JSON object.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from seamark import (
    Body,
    Client,
    MemoryRecorded,
    Outcome,
    Session,
    Settings,
    StepCompleted,
    TextKind,
    TextProduced,
    ToolCalled,
    ToolReturned,
)

STEP_PAUSE = 0.2  # seconds, on average
FLUSH = 60.0
PROJECT = "bench"
_KINDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a process of agents is told to do."""

    address: str
    sessions: int
    seconds: float
    buffer: int


@dataclass(slots=True, kw_only=True)
class Work:
    """What one session did and saw."""

    session_id: str
    producer_id: str
    observed: int = 0
    dropped: int = 0
    unacknowledged: int = 0
    # Of each step: the moment on the machine's clock, the seconds it took, whether it brought any.
    steps: list[tuple[float, float, bool]] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Account:
    """What became of all sessions of a process."""

    works: list[Work]
    rejected: int
    # What the sender lost to faults of its own.
    faults: int

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Account:
        """Reads what a process printed."""
        return cls(
            works=[Work(**work) for work in values["works"]],
            rejected=values["rejected"],
            faults=values["faults"],
        )


def body(sequence: int) -> Body:
    """What the agents report under this number; no two are alike."""
    if sequence == 1:
        # The block before each step repeats it, so that an answered step is never empty.
        return MemoryRecorded(type="gotcha", content="The sidecar is killed while we work.")
    step, kind = divmod(sequence - 2, _KINDS)
    match kind:
        case 0:
            return TextProduced(kind=TextKind.REASONING, text=f"Step {step}: look at the totals.")
        case 1:
            return ToolCalled(
                call_id=f"call_{step}",
                tool="read_file",
                arguments_json=json.dumps({"path": f"src/module_{step % 50}.py"}),
            )
        case 2:
            return ToolReturned(
                call_id=f"call_{step}",
                outcome=Outcome.OK,
                result="return sum(row.cents for row in rows)\n" * 8,
            )
        case _:
            return StepCompleted(input_tokens=step, output_tokens=sequence)


def work(client: Client, session: Session, done: Work, until: float) -> None:
    """The life of one agent; what it would have raised into its app is written down."""
    chance = random.Random(session.id)
    step = 0
    while time.monotonic() < until:
        step += 1
        try:
            while done.observed < 1 + step * _KINDS:
                done.observed += 1
                session.observe(body(done.observed))
            began = time.monotonic()
            shown = session.prepare_step(step)
            done.steps.append((began, time.monotonic() - began, bool(shown)))
        except Exception as error:  # noqa: BLE001 - that there is none is what is measured
            done.exceptions.append(repr(error))
        time.sleep(STEP_PAUSE * (0.5 + chance.random()))


def run(order: Order, until: float) -> Account:
    """Works until then, waits until all is acknowledged, and gives account."""
    client = Client(Settings(address=order.address, buffer=order.buffer))
    sessions = [client.start_session(project_name=PROJECT) for _ in range(order.sessions)]
    works = [Work(session_id=each.id, producer_id=each.producer_id) for each in sessions]
    threads = [
        threading.Thread(target=work, args=(client, session, done, until))
        for session, done in zip(sessions, works, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.flush(FLUSH)
    for session, done in zip(sessions, works, strict=True):
        done.dropped = session.dropped
        done.unacknowledged = len(client.outbox.unacknowledged(session, done.observed))
    account = Account(works=works, rejected=client.rejected, faults=client.outbox.faults)
    client.close()
    return account


def main() -> None:
    """Takes its order when everybody is ready."""
    # That memory comes and goes is the point here; what else is said is wanted.
    logging.getLogger("seamark").setLevel(logging.ERROR)
    print("ready", flush=True)
    order = Order(**json.loads(sys.stdin.readline()))
    account = run(order, time.monotonic() + order.seconds)
    print(json.dumps(asdict(account)))


if __name__ == "__main__":
    main()
