"""`seamark demo`: runs the demonstration."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys

import click

from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.options import json_option

_FRAMEWORK = ("langchain", "langgraph")


@click.command()
@click.option("--keep", is_flag=True, help="Keep the directory it worked in, and say where it is.")
@json_option
@click.pass_context
def demo(ctx: click.Context, keep: bool, as_json: bool) -> None:
    """Run an agent three times: learning, with memory, and without.

    It works in a temporary directory with a sidecar of its own, and touches nothing of yours.

    \b
    Example:
      seamark demo --json
    """
    missing = [name for name in _FRAMEWORK if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandFailed(
            "FRAMEWORK_MISSING",
            f"the demo needs {' and '.join(missing)}; run: pip install 'seamark[langgraph]'",
        )
    if importlib.util.find_spec("seamark_demo") is None:
        raise CommandFailed(
            "DEMO_MISSING", "the demo is not part of this installation; use a source checkout"
        )
    # -P: a file of the current directory must not pass for a module of the demo.
    command = [sys.executable, "-P", "-m", "seamark_demo"]
    command += ["--json"] if as_json else []
    command += ["--keep"] if keep else []
    process = subprocess.Popen(command)
    # Ctrl-C reaches the demo as well, which needs the time to stop its sidecar.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    ctx.exit(code if code >= 0 else 128 - code)
