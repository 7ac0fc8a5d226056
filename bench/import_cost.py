"""What importing the SDK, and constructing the middleware, costs an agent's process.

1. `import seamark` beside `import grpc`: user and system time of a fresh interpreter, less that of
   one that imports nothing. The three take turns. Bytecode is compiled beforehand.
   Bar: median and least CPU ≤ 1.5 × `import grpc`.
2. `from seamark_langgraph import SeamarkMiddleware; SeamarkMiddleware()` with a running sidecar,
   timed inside a fresh interpreter right after `import langchain.agents`.
   Bar: median wall and CPU time ≤ 100 ms.
   The middleware makes its client when it is first needed, so the first session is shown too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Spread, cpu_of, output_of, spread
from bench.report import Report, Row, at_most, conclude, parser, times_peer
from bench.sidecar import Sidecar

RUNS = 15
IMPORT_BAR = times_peer(1.5)
CONSTRUCTION_BAR = at_most(100.0)  # milliseconds

_PROJECT = Path(__file__).resolve().parent.parent

_ALL_COMPILED = """
import pathlib, sys
import grpc, seamark, langchain.agents, seamark_langgraph
for module in list(sys.modules.values()):
    compiled = getattr(module, "__cached__", None)
    if compiled and not pathlib.Path(compiled).exists():
        sys.exit(f"{module.__name__} has no compiled bytecode at {compiled}")
"""

_CONSTRUCTION = """
import time

def now():
    return time.perf_counter(), time.process_time()

start = now()
import langchain.agents
imported = now()
from seamark_langgraph import SeamarkMiddleware
SeamarkMiddleware()
constructed = now()
import seamark
session = seamark.Client().start_session(project_path=PROJECT)
started = now()
assert session.is_established, "the session was not started"
for before, after in ((start, imported), (imported, constructed), (constructed, started)):
    print(after[0] - before[0], after[1] - before[1])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds on the clock and of the processor."""

    wall: Spread
    cpu: Spread


def run(runs: int = RUNS) -> Report:
    """Measures both."""
    with Sidecar() as sidecar:
        # Twice: the first import writes the bytecode that the second one finds.
        for _ in range(2):
            output_of("import grpc, seamark, langchain.agents, seamark_langgraph")
        output_of(_ALL_COMPILED)
        rows = [*_imports(runs), *_construction(runs, sidecar.environment)]
    return Report(
        name="import_cost",
        counts=f"{runs} fresh interpreters for each figure",
        rows=tuple(rows),
        notes=(
            "CPU is user and system time of the whole process less that of an interpreter that "
            "imports nothing. Construction is timed inside the process, after importing "
            "langchain.agents.",
        ),
    )


def _imports(runs: int) -> list[Row]:
    codes = {
        "nothing": "pass",
        "grpc": "import grpc",
        "seamark": "import seamark",
        "client": "import seamark; seamark.Client",
    }
    taken: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(runs):
        for name, code in codes.items():
            taken[name].append(cpu_of(code) * 1e3)
    nothing, grpc, seamark, client = (spread(values) for values in taken.values())
    return [
        Row(
            figure="import seamark, CPU, median",
            value=seamark.p50 - nothing.p50,
            unit="ms",
            peer="import grpc",
            peer_value=grpc.p50 - nothing.p50,
            bar=IMPORT_BAR,
        ),
        Row(
            figure="import seamark, CPU, least",
            value=seamark.least - nothing.least,
            unit="ms",
            peer="import grpc",
            peer_value=grpc.least - nothing.least,
            bar=IMPORT_BAR,
        ),
        # The client, and with it gRPC and protobuf, is loaded when it is first asked for.
        Row(
            figure="import seamark; seamark.Client, CPU, median",
            value=client.p50 - nothing.p50,
            unit="ms",
            peer="import grpc",
            peer_value=grpc.p50 - nothing.p50,
        ),
    ]


def _construction(runs: int, environment: Mapping[str, str]) -> list[Row]:
    code = _CONSTRUCTION.replace("PROJECT", repr(str(_PROJECT)))
    outputs = [output_of(code, environment).split() for _ in range(runs)]
    langchain, middleware, session = (
        Timing(
            wall=spread(float(each[part * 2]) * 1e3 for each in outputs),
            cpu=spread(float(each[part * 2 + 1]) * 1e3 for each in outputs),
        )
        for part in range(3)
    )
    peer = "import langchain.agents"
    return [
        Row(
            figure="SeamarkMiddleware(), wall, median",
            value=middleware.wall.p50,
            unit="ms",
            peer=peer,
            peer_value=langchain.wall.p50,
            bar=CONSTRUCTION_BAR,
        ),
        Row(
            figure="SeamarkMiddleware(), CPU, median",
            value=middleware.cpu.p50,
            unit="ms",
            peer=peer,
            peer_value=langchain.cpu.p50,
            bar=CONSTRUCTION_BAR,
        ),
        Row(figure="its first session, wall, median", value=session.wall.p50, unit="ms"),
        Row(figure="its first session, CPU, median", value=session.cpu.p50, unit="ms"),
    ]


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=RUNS, help="fresh interpreters a figure")
    chosen = options.parse_args()
    return conclude(run(chosen.runs), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
