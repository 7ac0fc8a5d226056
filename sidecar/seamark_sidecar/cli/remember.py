"""`seamark remember`: stores what somebody typed."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.text import Text

from seamark.wire.v1 import operator_pb2
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.layout import counted, wrapped
from seamark_sidecar.cli.options import json_option, project_hint, project_option, sendable
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.records import record_json, record_lines
from seamark_sidecar.cli.terminal import is_interactive, text_width
from seamark_sidecar.model.memory import MemoryType
from seamark_sidecar.settings import Settings


@click.command()
@click.argument("text", nargs=-1, required=True, callback=sendable)
@click.option(
    "--type",
    "kind",
    metavar="TYPE",
    type=click.Choice([each.value for each in MemoryType]),
    default=MemoryType.GOTCHA.value,
    show_default=True,
    help="What it is: gotcha, decision, preference, pattern, requirement, ...",
)
@click.option(
    "--file", "files", metavar="F", callback=sendable, multiple=True, help="A file it is about."
)
@click.option(
    "--tag", "tags", metavar="T", callback=sendable, multiple=True, help="A word to file it by."
)
@click.option("--pin", is_flag=True, help="Show it to every agent at its start; never forget it.")
@click.option("--redact", is_flag=True, help="Take secrets out instead of refusing the text.")
@project_option
@json_option
def remember(
    text: tuple[str, ...],
    kind: str,
    files: tuple[str, ...],
    tags: tuple[str, ...],
    pin: bool,
    redact: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """Teach the agents of a project something.

    Typed at a terminal it counts as your own word. From a script or an agent's shell it counts as
    an agent's word and waits for a review.

    \b
    Example:
      seamark remember "Prices are in cents, also in tests" --file shop/cart.py
    """
    content = " ".join(text)
    if not content.strip():
        raise click.BadParameter("it is empty.", param_hint="TEXT")
    settings = Settings.from_env(os.environ)
    interactive = is_interactive()
    hint = project_hint(project)
    request = operator_pb2.RememberRequest(
        project=hint,
        type=kind,
        content=content,
        # A name means what it means in the shell, also below the project's root.
        files=[str(Path(hint.path, file)) for file in files],
        tags=tags,
        pinned=pin,
        interactive=interactive,
        redact=redact,
    )
    with connect(settings) as sidecar:
        answer = sidecar.call(sidecar.operator.Remember, request)
    notes = _notes(answer, interactive=interactive, asked_to_pin=pin)
    width = text_width()
    show(
        [
            *record_lines(answer.memory, width),
            *(Text(line) for note in notes for line in wrapped(note, width)),
        ],
        {
            "memory": record_json(answer.memory),
            "redacted_count": answer.redacted_count,
            "interactive": interactive,
            "notes": notes,
        },
        as_json=as_json,
    )


def _notes(
    answer: operator_pb2.RememberResponse, *, interactive: bool, asked_to_pin: bool
) -> list[str]:
    """What the person should know beyond the memory itself."""
    notes = []
    if answer.redacted_count:
        notes.append(f"{counted(answer.redacted_count, 'secret')} taken out of it.")
    if not interactive:
        notes.append(
            "Stored as an agent's word, which needs review: nobody typed it at a terminal."
        )
    if asked_to_pin and not answer.memory.pinned:
        notes.append("Not pinned: that needs a person at a terminal.")
    return notes
