"""Whether recorded sessions give the same signals, whatever happens on their way.

All recordings pass through the real SDK and a real sidecar by `seamark replay`: once for
comparison, once again, and once while the sidecar is killed (SIGKILL) again and again. Then they
are sent as two producers each, in batches of 32: once in order, once with batches of all sessions
and producers shuffled, half of them sent twice, and the sidecar killed in between. What the sidecar
saw is compared byte for byte: calls, files, tests, signals, candidates.

No recordings are part of this project: `--data` says where they are.

Bar: not one session differs.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

if not __package__:  # Run as a file, which puts its folder where that of the package should be.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.measure import spread
from bench.report import Report, Row, at_most, conclude, parser, say
from bench.sessions import data_directory
from bench.sidecar import METADATA, Sidecar, clean_environment
from seamark import codec
from seamark.wire.v1 import events_pb2, operator_pb2, sidecar_pb2
from seamark.wire.v1.operator_pb2_grpc import OperatorServiceStub
from seamark.wire.v1.sidecar_pb2_grpc import SidecarServiceStub
from seamark_sidecar.lock import read_holder
from seamark_sidecar.recordings import detect
from seamark_sidecar.recordings.recording import Recording, Unreadable

KILLS = 6
SEED = 11
BATCH = 32  # events
TOGETHER = 24  # sessions
PRODUCERS = ("p", "q")
_DEADLINE = 60.0  # seconds
_OPTIONS = (("grpc.max_receive_message_length", 256 * 1024 * 1024),)
_MEASURED = "us_per_event"


# By the command line.


@contextmanager
def _own_directory() -> Iterator[Mapping[str, str]]:
    """An environment whose sidecar, whoever starts it, is gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="smk-"))
    environment = clean_environment() | {
        "SEAMARK_DATA_DIR": str(directory / "d"),
        "SEAMARK_ADDRESS": f"unix:{directory}/s",
        "SEAMARK_LOG_LEVEL": "warning",
    }
    try:
        yield environment
    finally:
        command = [sys.executable, "-m", "seamark_sidecar", "down", "--force"]
        subprocess.run(command, env=environment, capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)


def replayed(path: Path, environment: Mapping[str, str], kills: int) -> list[str]:
    """The lines that the command prints, while the sidecar is killed so often."""
    chance = random.Random(SEED)
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "seamark_sidecar", "replay", str(path), "--json", "--calls"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
        )
        killed = 0
        while process.poll() is None:
            time.sleep(chance.uniform(0.5, 2.5))
            holder = read_holder(Path(environment["SEAMARK_DATA_DIR"]))
            if killed < kills and holder is not None and holder.pid and process.poll() is None:
                os.kill(holder.pid, signal.SIGKILL)
                killed += 1
        if kills:
            say(f"killed {killed} times")
        out.seek(0)
        return out.read().decode().splitlines()


def _same(line: str) -> str:
    """A line without what a clock measured."""
    parsed = json.loads(line)
    parsed.pop(_MEASURED, None)  # A command that failed says so in a line without it.
    return json.dumps(parsed)


# By batches.


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of one producer, for one of the sessions that are sent together."""

    session: int
    producer: str
    events: tuple[events_pb2.Event, ...]


def batches(session: int, recording: Recording) -> Iterator[Batch]:
    """What two producers report in turn."""
    sent = list(recording.events())
    sequences = dict.fromkeys(PRODUCERS, 0)
    for number, start in enumerate(range(0, len(sent), BATCH)):
        producer = PRODUCERS[number % len(PRODUCERS)]
        own = []
        for each in sent[start : start + BATCH]:
            sequences[producer] += 1
            own.append(codec.event_to_wire(sequences[producer], each.seconds, each.body))
        yield Batch(session, producer, tuple(own))


class Sender:
    """Starts sessions and sends batches; after a kill it sends again what got no answer."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar
        self._connect()

    def _connect(self) -> None:
        self._channel = grpc.insecure_channel(self._sidecar.address, options=_OPTIONS)
        self._calls = SidecarServiceStub(self._channel)
        self._operator = OperatorServiceStub(self._channel)

    def kill(self) -> None:
        """Ends the sidecar as a crash would; another takes its place."""
        self._channel.close()
        self._sidecar.kill()
        self._sidecar.start()
        self._connect()

    def start(self, recording: Recording) -> tuple[str, bytes]:
        """The id and the capability of a new session."""
        session_id = secrets.token_hex(16)
        request = sidecar_pb2.StartSessionRequest(
            session_id=session_id,
            claim=secrets.token_bytes(16),
            project=sidecar_pb2.ProjectHint(
                path=recording.root, name=recording.repo or "recorded sessions"
            ),
            origin="replay",
        )
        answer = self._calls.StartSession(request, timeout=_DEADLINE, metadata=METADATA)
        return session_id, answer.capability

    def send(self, batch: Batch, session: tuple[str, bytes]) -> None:
        """Returns when the events are committed."""
        session_id, capability = session
        request = sidecar_pb2.IngestRequest(
            batches=[
                events_pb2.EventBatch(
                    session_id=session_id,
                    producer_id=batch.producer,
                    capability=capability,
                    events=batch.events,
                )
            ]
        )
        (receipt,) = self._calls.Ingest(request, timeout=_DEADLINE, metadata=METADATA).receipts
        if receipt.acknowledged_count != len(batch.events):
            raise RuntimeError(f"events were refused: {receipt.rejected_reason}")

    def seen(self, session: tuple[str, bytes]) -> bytes:
        """What the sidecar saw in the session."""
        request = operator_pb2.ObserveSessionRequest(session_id=session[0])
        answer = self._operator.ObserveSession(request, timeout=_DEADLINE, metadata=METADATA)
        for measured in ("session_id", "start_time", "last_seen_time", "event_us_p50"):
            answer.ClearField(measured)
        answer.ClearField("event_us_p99")
        return answer.SerializeToString(deterministic=True)

    def end(self, session: tuple[str, bytes]) -> None:
        """Lets the sidecar forget it."""
        request = sidecar_pb2.CompleteSessionRequest(
            events=events_pb2.EventBatch(session_id=session[0], capability=session[1]),
            outcome=sidecar_pb2.CompleteSessionRequest.OUTCOME_CANCELLED,
            validation=sidecar_pb2.CompleteSessionRequest.VALIDATION_FAILED,
        )
        self._calls.CompleteSession(request, timeout=_DEADLINE, metadata=METADATA)


def sent_by_batches(
    recordings: Sequence[Recording], disturb: Callable[[list[Batch]], list[Batch]], kills: int
) -> list[bytes]:
    """What was seen in each recording, the sidecar killed so often meanwhile."""
    groups = [recordings[at : at + TOGETHER] for at in range(0, len(recordings), TOGETHER)]
    # In the middle of groups that are spread over the whole.
    deadly = {len(groups) * number // max(kills, 1) for number in range(kills)}
    seen: list[bytes] = []
    with Sidecar() as sidecar:
        sender = Sender(sidecar)
        for number, group in enumerate(groups):
            sessions = [sender.start(recording) for recording in group]
            waiting = disturb(
                [each for at, recording in enumerate(group) for each in batches(at, recording)]
            )
            for position, batch in enumerate(waiting):
                if number in deadly and position == len(waiting) // 2:
                    sender.kill()
                sender.send(batch, sessions[batch.session])
            seen += map(sender.seen, sessions)
            for session in sessions:
                sender.end(session)
    return seen


def shuffled(waiting: list[Batch]) -> list[Batch]:
    """Half of them twice, all in another order."""
    chance = random.Random(SEED)
    disturbed = waiting + chance.sample(waiting, len(waiting) // 2)
    chance.shuffle(disturbed)
    return disturbed


# All of it.


def run(data: Path | None, limit: int | None, kills: int) -> Report:
    """Replays everything five times and compares."""
    path = data_directory(data)
    path = path / "trajectories" if (path / "trajectories").is_dir() else path
    files = list(detect.files(path))[:limit]
    recordings: list[Recording] = []
    for file in files:
        try:
            recordings += detect.read(file)
        except Unreadable as error:
            say(f"{file.name}: {error}")
    if not recordings:
        note = f"Skipped: no recorded sessions in {path.name}; --data says where they are."
        return Report(name="determinism", counts="nothing", rows=(), notes=(note,))
    with tempfile.TemporaryDirectory() as directory:
        # The same files for every pass, also with a limit.
        chosen = Path(directory)
        for number, file in enumerate(files):
            (chosen / f"{number:05d}-{file.name}").symlink_to(file.resolve())
        with _own_directory() as environment:
            say("replaying them")
            first = replayed(chosen, environment, 0)
            say("replaying them again")
            again = replayed(chosen, environment, 0)
            say("replaying them with kills")
            disturbed = replayed(chosen, environment, kills)
    say("sending them by batches")
    straight = sent_by_batches(recordings, lambda waiting: waiting, 0)
    say("sending them by batches, shuffled, half of them twice, with kills")
    mixed = sent_by_batches(recordings, shuffled, kills)
    costs = [json.loads(line)[_MEASURED] for line in first]
    expected = list(map(_same, first))
    signals = sum(len(json.loads(line)["signals"]) for line in first)
    return Report(
        name="determinism",
        counts=f"{len(recordings):,} recorded sessions, {signals:,} signals in them",
        rows=(
            Row(
                figure="recordings not replayed",
                value=float(len(recordings) - len(first)),
                bar=at_most(0),
            ),
            _row("replayed again", expected, list(map(_same, again))),
            _row(f"replayed with {kills} kills", expected, list(map(_same, disturbed))),
            _row(f"by shuffled, repeated batches with {kills} kills", straight, mixed),
            Row(
                figure="observing one event, p50 of the middle session",
                value=spread([each["p50"] for each in costs]).p50,
                unit="µs",
            ),
            Row(
                figure="observing one event, p99 of the middle session",
                value=spread([each["p99"] for each in costs]).p50,
                unit="µs",
            ),
        ),
    )


def _row(how: str, expected: Sequence[str | bytes], found: Sequence[str | bytes]) -> Row:
    differing = abs(len(expected) - len(found)) + sum(
        one != other for one, other in zip(expected, found, strict=False)
    )
    return Row(figure=f"{how}: sessions that differ", value=float(differing), bar=at_most(0))


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, help="the directory of the recordings")
    options.add_argument("--limit", type=int, help="take only so many files")
    options.add_argument("--kills", type=int, default=KILLS, help="how often the sidecar dies")
    chosen = options.parse_args()
    return conclude(run(chosen.data, chosen.limit, chosen.kills), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
