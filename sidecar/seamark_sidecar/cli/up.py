"""`seamark up`: starts the sidecar."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import click

from seamark_sidecar.cli.background import Started, start
from seamark_sidecar.cli.options import json_option
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.terminal import discard_stdout
from seamark_sidecar.settings import Settings

LONGEST_IDLE = 1_000_000_000


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Start it in the background.")
@click.option(
    "--idle-exit",
    metavar="SECONDS",
    type=click.FloatRange(0, LONGEST_IDLE),
    default=0,
    help="End it when nobody asks for that long.  [default: never]",
)
@click.option("--launched", is_flag=True, hidden=True, help="An SDK starts it, no person.")
@json_option
def up(detach: bool, idle_exit: float, launched: bool, as_json: bool) -> None:
    """Start the sidecar that keeps your agents' memories.

    It serves all your projects, listens on a socket that only you can open, and runs until it is
    stopped with Ctrl-C or `seamark down`. Starting it in the background twice is harmless.

    \b
    Example:
      seamark up --detach
    """
    settings = replace(Settings.from_env(os.environ), idle_exit=float(idle_exit), launched=launched)
    if detach:
        _say(start(settings), settings, stop="seamark down", as_json=as_json)
        return
    # Only this command needs the engine; the others start faster without it.
    from seamark_sidecar.app import serve

    def ready() -> None:
        if launched:  # Nobody reads it.
            return
        try:
            _say(Started(pid=os.getpid()), settings, stop="Ctrl-C", as_json=as_json)
        except OSError:
            # A reader that has gone away is no reason to stop serving.
            discard_stdout()

    asyncio.run(serve(settings, on_ready=ready))


def _say(started: Started, settings: Settings, *, stop: str, as_json: bool) -> None:
    state = "was already running" if started.already_running else "is ready"
    line = (
        f"Seamark {state} at {settings.address}, data in {settings.data_dir}, "
        f"pid {started.pid}; stop it: {stop}"
    )
    answer = {
        "address": settings.address,
        "data_dir": str(settings.data_dir),
        "pid": started.pid,
        "already_running": started.already_running,
        "log": str(started.log) if started.log else None,
    }
    show([line], answer, as_json=as_json)
