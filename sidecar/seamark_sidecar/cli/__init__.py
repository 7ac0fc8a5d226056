"""The command `seamark`."""

from __future__ import annotations

import importlib.util
import sys
from typing import NoReturn

from seamark.spawn import SIDECAR_PACKAGES

__all__ = ["main"]

# What a command needs to say anything at all; `doctor` says the rest.
_SPOKEN_WITH = frozenset({"click", "grpc_health", "psutil", "rich", "structlog"})


def main() -> NoReturn:
    """Runs the command line of this process and leaves with its exit code."""
    missing = [name for name in SIDECAR_PACKAGES if importlib.util.find_spec(name) is None]
    if missing and not (sys.argv[1:2] == ["doctor"] and _SPOKEN_WITH.isdisjoint(missing)):
        sys.stderr.write(
            f"seamark: {', '.join(missing)} cannot be imported because only the SDK is installed; "
            "run: pip install 'seamark[sidecar]'\n"
        )
        raise SystemExit(2)
    # Only now is it known that the packages it stands on are there.
    from seamark_sidecar.cli.root import run

    raise SystemExit(run(sys.argv[1:]))
