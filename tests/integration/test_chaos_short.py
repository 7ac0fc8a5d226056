"""The short form of `make chaos`: a few agents, a few torments, every check."""

import os
import secrets
import tempfile
from pathlib import Path

from tests.chaos import campaign
from tests.chaos.__main__ import conclude

SECONDS = 9.0


def test_nothing_acknowledged_is_lost_while_everything_breaks(capsys):
    seed = int(os.environ.get("SEAMARK_CHAOS_SEED") or secrets.randbelow(1_000_000))
    # Short: a socket's path has about a hundred bytes.
    directory = Path(tempfile.mkdtemp(prefix="chaos-"))
    plan = campaign.Plan(seconds=SECONDS, sessions=8, processes=2, seed=seed)
    result = campaign.run(plan, directory, print)
    # What was done, and the seed that does it again, is shown when this fails.
    assert conclude(result, seed, directory, keep=False) == 0
    said = capsys.readouterr().out
    assert "violations" in said
