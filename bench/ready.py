"""How long after its start the sidecar answers.

The clock runs from `Popen` until `prepare_step` has brought memories to a session that began after
the start: process, imports, files, socket, a new client, a new session, the event that names a
file, the answer. How long it takes until the index can be searched is shown too.

1. Started again with 1,000 memories and the model, after it was stopped. Bar: ≤ 1 s.
2. Started again after SIGKILL with 4,000 memories of which the index had flushed none; it flushes
   every 4,096 changes at the latest. Every repetition starts from the same files. Bar: ≤ 6 s, for
   the step and for the index as well.

Beside it the floor: the same interpreter, started to import what the sidecar is built on.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import psutil

from bench.measure import ProcessFailed, spread
from bench.memories import PROJECT, lessons, remember
from bench.report import Bar, Report, Row, at_most, conclude, parser, say
from bench.sidecar import READY_WITHIN, Sidecar, SidecarFailed, ask_status, clean_environment
from seamark import Outcome, ToolCalled, ToolReturned
from seamark.settings import socket_path

RUNS = 10
MEMORIES = 1_000
UNFLUSHED = 4_000
START_BAR = at_most(1.0)  # seconds
KILL_BAR = at_most(6.0)

FIRST_STEP = 2  # that is shown anything; the first one follows the session's start
DEADLINE = 10.0  # seconds
INDEXED_WITHIN = 300.0
LISTENING_PAUSE = 0.002
INDEX_PAUSE = 0.02
_FLOOR = "import asyncio, sqlite3, grpc.aio, grpc_health.v1.health, structlog, psutil, msgpack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Seconds after the start of the process."""

    step: float
    index: float


def run(runs: int = RUNS, memories: int = MEMORIES, unflushed: int = UNFLUSHED) -> Report:
    """Measures both kinds of start, and the floor in turn with them."""
    floor: list[float] = []
    say(f"{runs} starts with {memories:,} memories")
    stopped = []
    for start in _after_stop(runs, memories):
        stopped.append(start)
        floor.append(_interpreter())
    say(f"{runs} starts after SIGKILL, {unflushed:,} memories not flushed")
    killed = list(_after_kill(runs, unflushed))
    least = spread(floor).p50
    return Report(
        name="ready",
        counts=(
            f"{runs} starts of each kind; {memories:,} memories after a stop, {unflushed:,} "
            "unflushed ones after a kill"
        ),
        rows=(
            *_rows("first step after a stop", [each.step for each in stopped], least, START_BAR),
            *_rows("index after a stop", [each.index for each in stopped], least, None),
            *_rows("first step after a kill", [each.step for each in killed], least, KILL_BAR),
            *_rows("index after a kill", [each.index for each in killed], least, KILL_BAR),
        ),
        notes=("The steps do not wait for the index: what they show is at hand without it.",),
    )


def _after_stop(runs: int, memories: int) -> Iterator[Start]:
    with Sidecar(with_model=True) as sidecar:
        remember(sidecar.address, lessons(memories))
        sidecar.await_index(memories, INDEXED_WITHIN)
        for _ in range(runs):
            sidecar.stop()
            yield _started(sidecar)


def _after_kill(runs: int, memories: int) -> Iterator[Start]:
    with Sidecar(with_model=True) as sidecar:
        # What comes while it is being opened is flushed when that is done.
        sidecar.await_index(0, INDEXED_WITHIN)
        remember(sidecar.address, lessons(memories))
        sidecar.await_index(memories, INDEXED_WITHIN)
        _kill(sidecar)
        _require_unflushed(sidecar.data_dir, memories)
        kept = sidecar.directory / "kept"
        _copy(sidecar.data_dir, kept)
        for _ in range(runs):
            shutil.rmtree(sidecar.data_dir)
            _copy(kept, sidecar.data_dir)
            yield _started(sidecar)
            _kill(sidecar)


def _started(sidecar: Sidecar) -> Start:
    """Starts it, asks for a step, and waits until the index is there again."""
    began = time.perf_counter()
    process = sidecar.launch()
    _await_listening(sidecar.address, process)
    client = sidecar.client(step_deadline=DEADLINE, session_start_deadline=DEADLINE)
    session = client.start_session(project_name=PROJECT)
    path = lessons(1)[0].file
    session.observe(
        ToolCalled(call_id="1", tool="read_file", arguments_json=json.dumps({"path": path}))
    )
    session.observe(ToolReturned(call_id="1", outcome=Outcome.OK, result="def total(): ..."))
    shown = session.prepare_step(FIRST_STEP)
    step = time.perf_counter() - began
    if not shown.citations:
        raise SidecarFailed(f"the first step was shown no memory: {client.why_without_memory}")
    _await_index(sidecar.address)
    index = time.perf_counter() - began
    client.close()
    return Start(step=step, index=index)


def _await_listening(address: str, process: subprocess.Popen[bytes]) -> None:
    path = str(socket_path(address))
    limit = time.monotonic() + READY_WITHIN
    while time.monotonic() < limit and process.poll() is None:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except OSError:
                time.sleep(LISTENING_PAUSE)
            else:
                return
    raise SidecarFailed("the sidecar does not listen after its start")


def _await_index(address: str) -> None:
    limit = time.monotonic() + INDEXED_WITHIN
    with grpc.insecure_channel(address) as channel:
        while time.monotonic() < limit:
            index = ask_status(channel).index
            if index.ready and index.applied_seq >= index.last_seq:
                return
            time.sleep(INDEX_PAUSE)
    raise SidecarFailed(f"the index was not ready within {INDEXED_WITHIN:g} s")


def _kill(sidecar: Sidecar) -> None:
    """SIGKILL for the sidecar alone; returns when its workers are gone as well."""
    workers = psutil.Process(sidecar.pid).children(recursive=True)
    sidecar.kill()
    _, left = psutil.wait_procs(workers, timeout=DEADLINE)
    if left:
        raise SidecarFailed(f"workers are left without their sidecar: {left}")


def _require_unflushed(data_dir: Path, memories: int) -> None:
    flushed = json.loads((data_dir / "index.json").read_bytes())["applied"]
    if flushed >= memories:
        raise SidecarFailed("the index had been flushed before the kill")


def _copy(source: Path, target: Path) -> None:
    # Not shutil: the index has files with large holes, which this keeps.
    subprocess.run(["cp", "-a", source, target], check=True)


def _interpreter() -> float:
    """Seconds that a fresh interpreter takes for the imports."""
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-I", "-c", _FLOOR], env=clean_environment(), check=False
    )
    if ended.returncode:
        raise ProcessFailed(f"{_FLOOR!r} ended with {ended.returncode}")
    return time.perf_counter() - began


def _rows(figure: str, seconds: list[float], floor: float, bar: Bar | None) -> list[Row]:
    taken = spread(seconds)
    return [
        Row(
            figure=f"{figure}, p50",
            value=taken.p50,
            unit="s",
            peer="imports alone",
            peer_value=floor,
            bar=bar,
        ),
        Row(figure=f"{figure}, most", value=taken.most, unit="s", bar=bar),
    ]


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=RUNS, help="starts of each kind")
    options.add_argument("--memories", type=int, default=MEMORIES, help="after a stop")
    options.add_argument("--unflushed", type=int, default=UNFLUSHED, help="after a kill")
    chosen = options.parse_args()
    report = run(chosen.runs, chosen.memories, chosen.unflushed)
    return conclude(report, as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
