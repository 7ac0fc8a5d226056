"""What observing costs: CPU time an event, the end of a session, memory.

1. All recorded sessions, event by event, through a scratchpad: CPU time of the thread for each.
   Bar: p50 ≤ 50 µs, p99 ≤ 500 µs. Of it, the detectors of behaviour alone, without a bar.
2. A session of 10,000 events made of recorded ones, one after the other under new ids: what it
   found and what it proposes. Bar: ≤ 100 ms.
3. The same of 100,000 events: time an event in each tenth of the session, and memory held after
   the half and at the end, as the allocator counts it. Bars: the last tenth takes at most 1.25
   times the second; memory at the end at most 1.1 times that at half.

No recordings are part of this project; without them it is skipped.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

if not __package__:  # Run as a file, which puts its folder where that of the package should be.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.measure import Spread, spread
from bench.report import Report, Row, at_most, conclude, parser, say, times_peer
from bench.sessions import Recording, data_directory, recordings
from seamark.events import Body, Event, ToolCalled, ToolReturned
from seamark_sidecar.observer.moment import Moment
from seamark_sidecar.observer.scratchpad import Scratchpad
from seamark_sidecar.observer.signals import DETECTORS, Detectors
from seamark_sidecar.observer.signals.recorded import Recorded
from seamark_sidecar.observer.signals.said import Said

SETS = "trajectories"
FINALIZED = 10_000
LONG = 100_000
SEED = 7
TENTHS = 10
BEHAVIOUR = tuple(make for make in DETECTORS if make not in {Recorded, Said})


def run(data: Path | None = None, limit: int | None = None, long: int = LONG) -> Report:
    """Measures all sessions, or as many as the limit says."""
    found = list(itertools.islice(recordings(data_directory(data) / SETS), limit))
    # So that each part of the long session is like the others.
    random.Random(SEED).shuffle(found)
    if not found:
        reason = "Skipped: there are no recorded sessions where they are looked for."
        say(reason)
        return Report(name="observer", counts="nothing", rows=(), notes=(reason,))
    say(f"observing {len(found):,} sessions")
    each = spread(_costs(found)).scaled(1e-3)
    say("the detectors of behaviour alone")
    behaviour = spread(_behaviour_costs(found)).scaled(1e-3)
    say(f"ending a session of {FINALIZED:,} events")
    ending = _ending(found)
    say(f"a session of {long:,} events")
    curve = _curve(found, long)
    say("its memory")
    half, whole = _memory(found, long)
    return Report(
        name="observer",
        counts=f"{len(found):,} sessions, {each.count:,} events; one of {long:,} made of them",
        rows=(
            *_spread_rows("an event", each, 50.0, 500.0),
            *_spread_rows("of it, behaviour", behaviour),
            Row(figure="the end of 10,000 events", value=ending, unit="ms", bar=at_most(100.0)),
            Row(
                figure="an event in the last tenth",
                value=curve[-1],
                unit="µs",
                peer="in the second",
                peer_value=curve[1],
                bar=times_peer(1.25),
            ),
            Row(
                figure="memory at the end",
                value=whole / 1024,
                unit="KiB",
                peer="at half",
                peer_value=half / 1024,
                bar=times_peer(1.1),
            ),
        ),
        notes=(
            "Microseconds an event in each tenth of the long session: "
            + ", ".join(f"{value:.1f}" for value in curve)
            + ".",
        ),
    )


def _spread_rows(
    what: str, timings: Spread, p50: float | None = None, p99: float | None = None
) -> tuple[Row, Row]:
    return (
        Row(
            figure=f"{what}, p50",
            value=timings.p50,
            unit="µs",
            bar=None if p50 is None else at_most(p50),
        ),
        Row(
            figure=f"{what}, p99",
            value=timings.p99,
            unit="µs",
            bar=None if p99 is None else at_most(p99),
        ),
    )


def _pad(recording: Recording, detectors: Detectors | None = None) -> Scratchpad:
    if detectors is None:
        return Scratchpad(root=recording.root)
    return Scratchpad(root=recording.root, _detectors=detectors)


def _costs(found: Sequence[Recording]) -> Iterator[int]:
    for recording in found:
        pad = _pad(recording)
        for event in list(recording.events()):
            start = time.thread_time_ns()
            pad.apply(event)
            yield time.thread_time_ns() - start


class _Behaviour(Detectors):
    """Only the detectors of behaviour, which notes what each moment costs them."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: list[int] = []
        self._behaviour = tuple(make() for make in BEHAVIOUR)

    def see(self, moment: Moment) -> None:
        start = time.thread_time_ns()
        for detector in self._behaviour:
            detector.see(moment)
        self.costs.append(time.thread_time_ns() - start)


def _behaviour_costs(found: Sequence[Recording]) -> Iterator[int]:
    for recording in found:
        detectors = _Behaviour()
        pad = _pad(recording, detectors)
        for event in recording.events():
            pad.apply(event)
        yield from detectors.costs


def _ending(found: Sequence[Recording]) -> float:
    pad = Scratchpad()
    for event in _endless(found, FINALIZED):
        pad.apply(event)
    start = time.thread_time()
    pad.signals()
    pad.candidates()
    return 1000 * (time.thread_time() - start)


def _curve(found: Sequence[Recording], count: int) -> list[float]:
    """Microseconds an event in each tenth, which all hold the same work under new ids."""
    pad, tenth, curve = Scratchpad(), count // TENTHS, []
    work = list(_endless(found, tenth))
    for turn in range(TENTHS):
        some = [
            dataclasses.replace(
                event, sequence=turn * tenth + event.sequence, body=_renamed(event, str(turn))
            )
            for event in work
        ]
        start = time.thread_time_ns()
        for event in some:
            pad.apply(event)
        curve.append((time.thread_time_ns() - start) / 1000 / max(1, len(some)))
    return curve


def _memory(found: Sequence[Recording], count: int) -> tuple[int, int]:
    """Bytes held after half of the session, and after the whole."""
    tracemalloc.start()
    try:
        pad, held = Scratchpad(), []
        events = _endless(found, count)
        for _ in range(2):
            for event in itertools.islice(events, count // 2):
                pad.apply(event)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
        return held[0], held[1]
    finally:
        tracemalloc.stop()


def _endless(found: Sequence[Recording], count: int) -> Iterator[Event]:
    """The recorded sessions as one, again and again, each time under new ids."""
    sequence = itertools.count(1)
    for turn in itertools.count():
        for recording in found:
            for event in recording.events():
                number = next(sequence)
                if number > count:
                    return
                yield dataclasses.replace(
                    event, sequence=number, body=_renamed(event, f"{turn}-{recording.id}")
                )


def _renamed(event: Event, prefix: str) -> Body | None:
    body = event.body
    if isinstance(body, ToolCalled | ToolReturned):
        return dataclasses.replace(body, call_id=f"{prefix}-{body.call_id}")
    return body


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, help="the directory that has the recordings")
    options.add_argument("--limit", type=int, help="observe only so many sessions")
    options.add_argument("--long", type=int, default=LONG, help="events of the long session")
    chosen = options.parse_args()
    return conclude(run(chosen.data, chosen.limit, chosen.long), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
