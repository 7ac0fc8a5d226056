"""`python -m tests.chaos`: a campaign, or with `--cycles` one kill after the other.

Exit status 1 and a directory with the evidence when a promise was not kept.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos import campaign, cycles

SECONDS = 600.0
SESSIONS = 64


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    options.add_argument("--seconds", type=float, default=SECONDS, help="how long it goes on")
    options.add_argument("--sessions", type=int, default=SESSIONS, help="agents at a time")
    options.add_argument("--seed", type=int, help="of an earlier run, to repeat its choices")
    options.add_argument("--model", action="store_true", help="with the embedding model")
    options.add_argument("--cycles", type=int, help="instead: so many kills, each checked")
    options.add_argument("--keep", action="store_true", help="keep the evidence of a good run too")
    chosen = options.parse_args()
    # That memory comes and goes is the point here.
    logging.getLogger("seamark").setLevel(logging.ERROR)
    seed = chosen.seed if chosen.seed is not None else secrets.randbelow(1_000_000)
    directory = Path(tempfile.mkdtemp(prefix="chaos-"))
    began = time.monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"{time.monotonic() - began:8.1f}  {line}\n")

    say(f"seed {seed}, in {directory}")
    if chosen.cycles:
        plan = cycles.Plan(cycles=chosen.cycles, seed=seed)
        result = cycles.run(plan, directory, say)
    else:
        result = campaign.run(
            campaign.Plan(
                seconds=chosen.seconds, sessions=chosen.sessions, seed=seed, model=chosen.model
            ),
            directory,
            say,
        )
    return conclude(result, seed, directory, keep=chosen.keep)


def conclude(result: campaign.Result, seed: int, directory: Path, *, keep: bool) -> int:
    """Prints what was seen; keeps the evidence when there is something to prove."""
    width = max(len(figure) for figure, _ in (*result.rows, ("", "")))
    for figure, value in result.rows:
        sys.stdout.write(f"{figure:<{width}}  {value:>12}\n")
    found = result.violations
    sys.stdout.write(f"{'violations':<{width}}  {len(found):>12,}\n{'seed':<{width}}  {seed:>12}\n")
    for each in found[:20]:
        sys.stdout.write(f"  {each.what}: {each.of} {each.detail[:500]}\n")
    if found:
        listed = json.dumps([dataclasses.asdict(each) for each in found], indent=1)
        (directory / "violations.json").write_text(listed)
    if found or keep:
        sys.stdout.write(f"evidence: {directory}\n")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
