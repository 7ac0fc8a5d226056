"""`seamark memories`: lists memories."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.text import Text

from seamark.wire.v1 import operator_pb2
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.options import json_option, limit_option, project_hint, project_option
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.records import record_json, record_lines
from seamark_sidecar.cli.terminal import plain, text_width
from seamark_sidecar.settings import Settings


@click.command()
@project_option
@click.option("--all", "every_project", is_flag=True, help="Of every project.")
@limit_option(50)
@json_option
def memories(project: Path | None, every_project: bool, limit: int, as_json: bool) -> None:
    """List what is remembered of a project.

    \b
    Example:
      seamark memories --all --limit 20
    """
    if project and every_project:
        raise click.UsageError("Use either --project or --all.")
    settings = Settings.from_env(os.environ)
    request = operator_pb2.ListMemoriesRequest(every_project=every_project, limit=limit)
    if not every_project:
        request.project.CopyFrom(project_hint(project))
    with connect(settings) as sidecar:
        found = sidecar.call(sidecar.operator.ListMemories, request).memories
    width = text_width()
    lines = [
        line for each in found for line in record_lines(each, width, with_project=every_project)
    ]
    if not found:
        where = "" if every_project else f" of {plain(request.project.path)}"
        lines = [Text(f"Nothing is remembered{where} yet.")]
    elif len(found) == limit:
        lines.append(Text(f"The first {limit}; there may be more: --limit N", "dim"))
    show(lines, {"memories": [record_json(each) for each in found]}, as_json=as_json)
