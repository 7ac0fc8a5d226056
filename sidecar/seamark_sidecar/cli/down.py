"""`seamark down`: stops the sidecar."""

from __future__ import annotations

import os
import signal

import click

from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.holder import find_holder, within
from seamark_sidecar.cli.options import json_option
from seamark_sidecar.cli.output import show
from seamark_sidecar.lock import read_holder
from seamark_sidecar.settings import Settings

STOPPED_WITHIN = 6.0  # seconds; the sidecar allows itself 5.
KILLED_WITHIN = 2.0


@click.command()
@click.option("--force", is_flag=True, help="Kill it when it does not stop by itself.")
@json_option
def down(force: bool, as_json: bool) -> None:
    """Stop the sidecar.

    What it has acknowledged is stored; agents that still run go on without memory.

    \b
    Example:
      seamark down
    """
    settings = Settings.from_env(os.environ)
    holder = find_holder(settings)
    if holder is None:
        answer = {"stopped": False, "pid": None, "forced": False}
        show([f"No sidecar runs for {settings.data_dir}."], answer, as_json=as_json)
        return
    _signal(holder.pid, signal.SIGTERM)
    forced = False
    if not _is_gone(settings, holder.pid, STOPPED_WITHIN):
        if not force:
            raise CommandFailed(
                "STOP_TOO_SLOW",
                f"the sidecar (pid {holder.pid}) did not stop within {STOPPED_WITHIN:g} s; "
                "kill it: seamark down --force",
            )
        forced = True
        _signal(holder.pid, signal.SIGKILL)
        if not _is_gone(settings, holder.pid, KILLED_WITHIN):
            raise CommandFailed(
                "STOP_FAILED", f"the sidecar (pid {holder.pid}) could not be killed"
            )
    how = "Killed" if forced else "Stopped"
    show(
        [f"{how} the sidecar of {settings.data_dir} (pid {holder.pid})."],
        {"stopped": True, "pid": holder.pid, "forced": forced},
        as_json=as_json,
    )


def _signal(pid: int, number: signal.Signals) -> None:
    # 0, 1 and negative numbers name more than one process, or the wrong one.
    if pid <= 1 or pid == os.getpid():
        raise CommandFailed("STOP_FAILED", f"the lock names pid {pid}, which is no sidecar")
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        raise CommandFailed(
            "STOP_FAILED", f"the sidecar (pid {pid}) belongs to another user"
        ) from None


def _is_gone(settings: Settings, pid: int, seconds: float) -> bool:
    def happened() -> bool:
        holder = read_holder(settings.data_dir)
        # Without its name it still holds the lock, on its last line.
        return holder is None or holder.pid not in {0, pid}

    return within(seconds, happened)
