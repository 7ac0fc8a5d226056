"""Runs all benchmarks, each in a process of its own, and prints one table.

Exits with 1 when a bar was missed. `--write` also writes bench/RESULTS.md. Leave the machine alone
meanwhile: it takes about ten minutes, and says what it is doing.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.measure import ProcessFailed
from bench.report import Report, markdown, parser, table

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"

# Name, and the options that make it short.
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "import_cost": ("--runs", "5"),
    "observe": ("--count", "5000"),
    "prepare_step": ("--count", "200"),
    "kills": ("--seconds", "6", "--kills", "2"),
    "ready": ("--runs", "3", "--unflushed", "500"),
    "insert": ("--memories", "1000"),
    "search": ("--memories", "2000", "--queries", "100", "--peer-queries", "10"),
    "retrieval": ("--limit", "100"),
    "calls": (),
    "observer": ("--limit", "20", "--long", "10000"),
    "detections": (),
    "keepers": (),
    "determinism": ("--limit", "20", "--kills", "2"),
}
_PACKAGES = ("grpcio", "protobuf", "langchain", "qdrant-edge-py", "onnxruntime")


def measure(name: str, options: Sequence[str]) -> Report:
    """What the benchmark found; raises ProcessFailed when it found nothing."""
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{name}", "--json", *options],
        cwd=RESULTS.parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    # 1 with a report is a missed bar; without one it failed.
    if done.returncode not in (0, 1) or not done.stdout:
        raise ProcessFailed(f"bench.{name} ended with {done.returncode} and no report")
    return Report.from_json(json.loads(done.stdout))


def results(reports: Sequence[Report], command: str) -> str:
    """The page that keeps them."""
    rows = [row for report in reports for row in report.rows]
    missed = sum(row.is_met is False for row in rows)
    bars = sum(row.is_met is not None for row in rows)
    parts = [
        "# Results of the benchmarks",
        f"Written by `{command}`; do not edit. {bars - missed} of {bars} bars met.",
        machine(),
    ]
    for report in reports:
        document = importlib.import_module(f"bench.{report.name}").__doc__ or ""
        parts += [
            f"## {report.name}",
            document.strip(),
            f"Measured: {report.counts}. Alone: `python -m bench.{report.name}`.",
            # A benchmark that was skipped has none.
            *([markdown(report.rows)] if report.rows else []),
            *report.notes,
        ]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """What it ran on."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    return (
        f"Machine: {os.cpu_count()} × {_processor()}, {platform.system()} "
        f"{platform.machine()}, {platform.python_implementation()} {platform.python_version()}, "
        f"{', '.join(versions)}. Load average when it began: {_LOAD:.2f}."
    )


_LOAD = os.getloadavg()[0]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "an unnamed processor")


def main() -> int:
    """The command line."""
    options = parser(__doc__)
    options.add_argument("--quick", action="store_true", help="small counts, to try it out")
    options.add_argument("--write", action="store_true", help="write bench/RESULTS.md")
    chosen = options.parse_args()
    reports = []
    for name, short in BENCHMARKS.items():
        print(f"== {name}", file=sys.stderr, flush=True)
        reports.append(measure(name, short if chosen.quick else ()))
    is_met = all(report.is_met for report in reports)
    if chosen.write:
        command = "python -m bench --write" + (" --quick" if chosen.quick else "")
        RESULTS.write_text(results(reports, command), encoding="utf-8")
    if chosen.json:
        answer = {"reports": [report.as_json() for report in reports], "is_met": is_met}
        print(json.dumps(answer, indent=2))
    else:
        print(table([row for report in reports for row in report.rows]))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
