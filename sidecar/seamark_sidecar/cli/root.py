"""The tree of commands, and how each of them ends."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import click

from seamark.errors import SeamarkError
from seamark_sidecar.cli.demo import demo
from seamark_sidecar.cli.doctor import doctor
from seamark_sidecar.cli.down import down
from seamark_sidecar.cli.explain import explain
from seamark_sidecar.cli.failure import CommandFailed, reason_of
from seamark_sidecar.cli.memories import memories
from seamark_sidecar.cli.methodologies import methodologies
from seamark_sidecar.cli.models import models
from seamark_sidecar.cli.observe import observe
from seamark_sidecar.cli.output import show_json
from seamark_sidecar.cli.remember import remember
from seamark_sidecar.cli.replay import replay
from seamark_sidecar.cli.search import search
from seamark_sidecar.cli.status import status
from seamark_sidecar.cli.terminal import complain, discard_stdout
from seamark_sidecar.cli.up import up
from seamark_sidecar.model.errors import SidecarError

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


class InOrder(click.Group):
    """Lists the commands in the order a newcomer meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=InOrder,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="seamark", message="seamark %(version)s")
@click.pass_context
def seamark(ctx: click.Context) -> None:
    """Memory for coding agents: kept by a sidecar, handed back between steps.

    \b
    Example:
      seamark up --detach
      seamark remember "Run the tests with make check, not pytest"
      seamark search tests
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    up,
    down,
    status,
    doctor,
    demo,
    search,
    remember,
    memories,
    explain,
    observe,
    replay,
    models,
    methodologies,
):
    seamark.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; every failure is one sentence."""
    as_json = "--json" in _options(arguments)
    _prepare_streams()
    try:
        code = seamark.main(list(arguments), prog_name="seamark", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        return _fail("USAGE", _usage(error), MISUSED, as_json=as_json)
    except (CommandFailed, SeamarkError, SidecarError) as error:
        return _fail(reason_of(error), str(error), FAILED, as_json=as_json)
    except click.ClickException as error:
        return _fail(reason_of(error), error.format_message(), FAILED, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        return FAILED
    except OSError as error:
        return _fail("SYSTEM_ERROR", f"the system refused: {error}", FAILED, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the last door: people get a sentence, never a trace.
        return _unexpected(error, as_json=as_json)
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # The caller closed it.
            nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - stays open with the process.
            setattr(sys, name, nowhere)
        elif isinstance(stream, TextIOWrapper):
            # Not every terminal can show every character.
            stream.reconfigure(errors="backslashreplace")


def _options(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments before `--`, after which everything is text."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "seamark"
    return f"{error.format_message()} Try: {path} --help"


def _fail(reason: str, message: str, code: int, *, as_json: bool) -> int:
    complain(message)
    try:
        if as_json:
            show_json({"error": {"reason": reason, "message": message}})
        sys.stdout.flush()
    except OSError:
        discard_stdout()
    return code


def _unexpected(error: Exception, *, as_json: bool) -> int:
    if os.environ.get("SEAMARK_LOG_LEVEL", "").strip().lower() == "debug":
        traceback.print_exc()
    return _fail(
        "UNEXPECTED",
        f"unexpected {type(error).__name__}: {error}; SEAMARK_LOG_LEVEL=debug shows where",
        FAILED,
        as_json=as_json,
    )
