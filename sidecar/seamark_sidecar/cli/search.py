"""`seamark search`: finds memories."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.text import Text

from seamark.wire.v1 import operator_pb2
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.options import (
    json_option,
    limit_option,
    project_hint,
    project_option,
    sendable,
)
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.records import hit_json, hit_lines
from seamark_sidecar.cli.terminal import plain, text_width
from seamark_sidecar.settings import Settings


@click.command()
@click.argument("query", nargs=-1, required=True, callback=sendable)
@project_option
@limit_option(10)
@json_option
def search(query: tuple[str, ...], project: Path | None, limit: int, as_json: bool) -> None:
    """Find memories of a project by words, names or paths.

    \b
    Example:
      seamark search cart price rounding --project ~/src/shop
    """
    settings = Settings.from_env(os.environ)
    request = operator_pb2.FindMemoriesRequest(
        project=project_hint(project), query=" ".join(query), limit=limit
    )
    if not request.query.strip():
        raise click.BadParameter("it is empty.", param_hint="QUERY")
    with connect(settings) as sidecar:
        hits = sidecar.call(sidecar.operator.FindMemories, request).hits
    width = text_width()
    lines = [line for hit in hits for line in (*hit_lines(hit, width), Text())][:-1]
    if not hits:
        nothing = f"Nothing about {request.query} is remembered of {request.project.path}."
        lines = [Text(plain(nothing))]
    show(lines, {"hits": [hit_json(hit) for hit in hits]}, as_json=as_json)
