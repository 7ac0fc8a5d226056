"""One process of agents, started by the campaign; it takes its order from standard input."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import random
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from seamark import Client, Settings
from tests.chaos.descriptors import once_released, open_descriptors
from tests.chaos.history import History
from tests.chaos.pulse import Pulse
from tests.chaos.seat import Seat, Times

FLUSH = 60.0  # seconds, when nothing torments the sidecar any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a process of agents is told to do."""

    address: str
    name: str
    seats: int
    seconds: float
    seed: str
    history: str
    buffer: int = 8192


def run(order: Order) -> None:
    """Lets the agents work, waits until all is acknowledged, and gives account."""
    history = History(Path(order.history))
    settings = Settings(address=order.address, buffer=order.buffer)
    _use_once(settings)
    before = open_descriptors(os.getpid())
    pulse = Pulse()
    client = Client(settings)
    until = time.monotonic() + order.seconds
    seats = [
        Seat(
            client,
            history,
            f"{order.name}s{number}",
            random.Random(f"{order.seed}/{number}"),
            pulse,
        )
        for number in range(order.seats)
    ]
    threads = [
        threading.Thread(target=seat.work, args=(lambda: time.monotonic() >= until,))
        for seat in seats
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flushed = client.flush(FLUSH)
    if flushed:
        history.note("flushed")
    account = {
        "flushed": flushed,
        "why": client.why_without_memory,
        "dropped": client.dropped,
        "rejected": client.rejected,
        "faults": client.outbox.faults,
        "answered": sum(seat.answered for seat in seats),
        "late": pulse.late,
        "calls": {name: dataclasses.asdict(times) for name, times in _together(seats).items()},
    }
    client.close()
    pulse.stop()
    history.note(
        "account",
        descriptors_before=before,
        descriptors_after=once_released(lambda: open_descriptors(os.getpid()), len(before)),
        threads=threading.active_count(),
        **account,
    )
    history.close()


def _use_once(settings: Settings) -> None:
    """Lets gRPC open what it keeps for the rest of the process."""
    client = Client(settings)
    client.start_session(project_name="warm up").complete()
    client.close()


def _together(seats: list[Seat]) -> dict[str, Times]:
    together: dict[str, Times] = {}
    for seat in seats:
        for name, times in seat.times.items():
            sums = together.setdefault(name, Times())
            sums.count += times.count
            sums.slowest = max(sums.slowest, times.slowest)
            sums.most_over = max(sums.most_over, times.most_over)
    return together


def main() -> None:
    # That memory comes and goes is the point here; what else is said is wanted.
    logging.getLogger("seamark").setLevel(logging.ERROR)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    run(Order(**json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    main()
