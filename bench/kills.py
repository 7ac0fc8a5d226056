"""Whether anything is lost when the sidecar is killed again and again.

64 sessions in 4 processes of 16 threads report four events and ask for what to show in every step,
about five times a second each, for 30 s. Meanwhile the sidecar is killed (SIGKILL) five times and
started again within a second. One of the processes has a buffer of 64 events, so that some are
dropped and must be counted. Afterwards everything is flushed, the sidecar is stopped, and its
journal is compared, event by event and body by body, with what was sent.

Bar: every acknowledged event is stored, once and unaltered; none is lost beyond the drop counter;
none is refused; no exception reaches an agent; all is acknowledged in the end.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import journal
from bench.agents import FLUSH, Account, Order, Work, body
from bench.measure import ProcessFailed, spread
from bench.report import Report, Row, at_most, conclude, parser
from bench.sidecar import Sidecar, clean_environment

SECONDS = 30.0
KILLS = 5
PROCESSES = 4
SESSIONS = 16  # a process
BUFFER = 8192
SMALL_BUFFER = 64
LONGEST_OUTAGE = 1.0  # seconds before the sidecar is started again
_PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """From a kill until the next sidecar was healthy, on the machine's clock."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was sent against what is stored."""

    sent: int
    acknowledged: int
    stored: int
    dropped: int
    unacknowledged: int
    # Acknowledged, yet not there.
    lost: int
    # There more than once, or not as it was sent.
    duplicated: int
    altered: int


def run(seconds: float = SECONDS, kills: int = KILLS) -> Report:
    """Lets the agents work while the sidecar is killed."""
    with Sidecar() as sidecar:
        with _agents(sidecar.address, seconds) as processes:
            outages = _kill(sidecar, seconds, kills)
            accounts = [_account(process) for process in processes]
        sidecar.stop()
        works = [work for account in accounts for work in account.works]
        compared = compare(works, sidecar.data_dir, sum(each.rejected for each in accounts))
    return Report(
        name="kills",
        counts=(
            f"{len(works)} sessions in {len(accounts)} processes for {seconds:g} s, "
            f"{len(outages)} kills, {sum(len(work.steps) for work in works):,} steps"
        ),
        rows=(*_event_rows(compared, accounts), *_step_rows(works, outages)),
        notes=(
            f"One process has a buffer of {SMALL_BUFFER} events, so that there are drops to count.",
            "A step counts as answered when its block was not empty. A kill comes at a random "
            "moment; the outage lasts until the next sidecar is healthy, "
            f"{_mean(outages):.1f} s on average.",
        ),
    )


@contextmanager
def _agents(address: str, seconds: float) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have begun to work."""
    with ExitStack() as stack:
        processes = [_process() for _ in range(PROCESSES)]
        for process in processes:
            stack.callback(_end, process)
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise ProcessFailed("a process of agents did not start")
        for number, process in enumerate(processes):
            order = Order(
                address=address,
                sessions=SESSIONS,
                seconds=seconds,
                buffer=BUFFER if number else SMALL_BUFFER,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(dataclasses.asdict(order)) + "\n")
            process.stdin.flush()
        yield processes


def _process() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.agents"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_PROJECT,
        env=clean_environment(),
    )


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


def _account(process: subprocess.Popen[str]) -> Account:
    said, _ = process.communicate(timeout=FLUSH + 60)
    if process.returncode:
        raise ProcessFailed(f"a process of agents ended with {process.returncode}")
    return Account.from_json(json.loads(said))


def _kill(sidecar: Sidecar, seconds: float, kills: int) -> list[Outage]:
    """Kills at a random moment of each part of the run."""
    chance = random.Random(2)
    began = time.monotonic()
    part = seconds / kills if kills else seconds
    outages: list[Outage] = []
    for number in range(kills):
        moment = began + part * (number + 0.2 + 0.4 * chance.random())
        time.sleep(max(0.0, moment - time.monotonic()))
        killed = time.monotonic()
        sidecar.kill()
        time.sleep(min(LONGEST_OUTAGE, part / 4) * chance.random())
        sidecar.start()
        outages.append(Outage(began=killed, ended=time.monotonic()))
    return outages


def compare(works: Sequence[Work], data_dir: Path, rejected: int) -> Comparison:
    """Looks for every event that was sent among those that are stored, and the other way round."""
    by_name = {(work.session_id, work.producer_id): work for work in works}
    copies: Counter[tuple[str, str, int]] = Counter()
    altered = 0
    for stored in journal.events(data_dir):
        event = stored.event
        sender = by_name.get((stored.session_id, event.producer_id))
        if sender is None or event.sequence > sender.observed or event.body != body(event.sequence):
            altered += 1
            continue
        copies[stored.session_id, event.producer_id, event.sequence] += 1
    there = Counter((session, producer) for session, producer, _ in copies)
    sent = sum(work.observed for work in works)
    dropped = sum(work.dropped for work in works)
    unacknowledged = sum(work.unacknowledged for work in works)
    return Comparison(
        sent=sent,
        acknowledged=sent - dropped - unacknowledged - rejected,
        stored=len(copies),
        dropped=dropped,
        unacknowledged=unacknowledged,
        lost=sum(
            max(0, work.observed - work.dropped - work.unacknowledged - there[name])
            for name, work in by_name.items()
        ),
        duplicated=sum(copies.values()) - len(copies),
        altered=altered,
    )


def _event_rows(compared: Comparison, accounts: Sequence[Account]) -> list[Row]:
    none = at_most(0)
    exceptions = [
        each for account in accounts for work in account.works for each in work.exceptions
    ]
    for kind, times in Counter(exceptions).most_common(5):
        print(f"{times} × {kind}", file=sys.stderr)
    return [
        Row(figure="events sent", value=compared.sent),
        Row(figure="events acknowledged", value=compared.acknowledged),
        Row(figure="events stored", value=compared.stored, peer="sent", peer_value=compared.sent),
        Row(figure="events dropped and counted", value=compared.dropped),
        Row(figure="events lost beyond the drop counter", value=compared.lost, bar=none),
        Row(figure="events stored more than once", value=compared.duplicated, bar=none),
        Row(figure="events stored, but never sent so", value=compared.altered, bar=none),
        Row(figure="events never acknowledged", value=compared.unacknowledged, bar=none),
        Row(
            figure="events refused or lost by the sender",
            value=sum(each.rejected + each.faults for each in accounts),
            bar=none,
        ),
        Row(figure="exceptions in the agents", value=len(exceptions), bar=none),
    ]


def _step_rows(works: Sequence[Work], outages: Sequence[Outage]) -> list[Row]:
    steps = [step for work in works for step in work.steps]
    served = [
        answered
        for began, took, answered in steps
        if not any(began <= each.ended and began + took >= each.began for each in outages)
    ]
    took = spread(seconds for _, seconds, _ in steps).scaled(1e3)
    return [
        Row(
            figure="prepare_step answered, all",
            value=100 * sum(answered for *_, answered in steps) / len(steps),
            unit="%",
        ),
        Row(
            figure="prepare_step answered, outside outages",
            value=100 * sum(served) / max(1, len(served)),
            unit="%",
        ),
        Row(figure="prepare_step, p50", value=took.p50, unit="ms"),
        Row(figure="prepare_step, p99", value=took.p99, unit="ms"),
        Row(figure="prepare_step, longest", value=took.most, unit="ms"),
    ]


def _mean(outages: Sequence[Outage]) -> float:
    return sum(each.ended - each.began for each in outages) / max(1, len(outages))


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=SECONDS, help="how long agents work")
    options.add_argument("--kills", type=int, default=KILLS, help="of the sidecar, in that time")
    chosen = options.parse_args()
    return conclude(run(chosen.seconds, chosen.kills), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
