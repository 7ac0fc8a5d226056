"""`python -m seamark_demo`: runs the demo and prints what memory changed."""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import shutil
import signal
import sys
from collections.abc import Sequence
from types import FrameType

# What the demo stands on beyond the SDK, by import name.
NEEDED = ("grpc_health", "langchain", "langgraph", "pytest", "rich", "structlog")
LEAVE_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every run ended with passing tests, 1 when not, 2 when something is missing."""
    parser = argparse.ArgumentParser(
        prog="seamark demo",
        description=(
            "Lets a scripted agent work three times on a small project: it learns, "
            "works with what was learnt, and works without it."
        ),
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
    options = parser.parse_args(arguments)
    if missing := _missing():
        print(f"seamark demo: {missing}", file=sys.stderr)
        return 2
    for number in LEAVE_ON:
        signal.signal(number, _leave)
    logging.basicConfig(format="seamark demo: %(message)s", level=logging.WARNING)
    return _run(as_json=options.json, keep=options.keep)


def _run(*, as_json: bool, keep: bool) -> int:
    # Only now is it known that the packages these stand on are there.
    from rich.console import Console

    from seamark_demo import report
    from seamark_demo.runs import run_all
    from seamark_demo.workshop import Workshop, WorkshopError

    console = Console(stderr=as_json, highlight=False)

    def progress(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    progress("preparing a project and a sidecar in a temporary directory ...")
    try:
        with Workshop.opened(keep=keep) as workshop:
            demo = run_all(workshop, progress)
            if keep:
                progress(f"kept: {workshop.root}")
    except WorkshopError as error:
        print(f"seamark demo: {error}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(report.as_json(demo)))
    else:
        report.show(demo, console)
    return 0 if demo.succeeded else 1


def _missing() -> str:
    packages = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if packages:
        return f"{', '.join(packages)} cannot be imported; run: pip install 'seamark[demo]'"
    return "" if shutil.which("git") else "git is not installed"


def _leave(number: int, frame: FrameType | None) -> None:
    # An exception, so that the sidecar is stopped and the directory removed on the way out,
    # which a second signal must not disturb.
    for each in LEAVE_ON:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main())
