"""`seamark doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType

import click
from rich.cells import cell_len
from rich.text import Text

from seamark.errors import SeamarkError
from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.cli.connection import connect
from seamark_sidecar.cli.failure import CommandFailed
from seamark_sidecar.cli.layout import counted, wrapped
from seamark_sidecar.cli.output import show
from seamark_sidecar.cli.terminal import text_width
from seamark_sidecar.doctor.checkup import check_up
from seamark_sidecar.doctor.finding import Finding, State
from seamark_sidecar.doctor.place import Answer
from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.settings import Settings

ANSWERED_WITHIN = 0.8  # seconds

_MARKS: Mapping[State, str] = MappingProxyType({State.OK: "✔", State.WARN: "!", State.FAIL: "✘"})
_ASCII: Mapping[State, str] = MappingProxyType({State.OK: "+", State.WARN: "!", State.FAIL: "x"})
_STYLES = {State.OK: "green", State.WARN: "bold yellow", State.FAIL: "bold red"}
_NARROWEST = 30


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array instead.")
def doctor(as_json: bool) -> int:
    """Check everything that memory needs, and say what to do.

    It changes nothing, asks no network, and works with and without a running sidecar. The exit
    code is 1 when something fails.

    \b
    Example:
      seamark doctor
    """
    found = check_up(os.environ, _ask)
    show(_lines(found), [asdict(each) for each in found], as_json=as_json)
    return int(any(each.state is State.FAIL for each in found))


def _ask(settings: Settings) -> Answer:
    try:
        with connect(settings) as sidecar:
            return Answer(
                status=sidecar.call(
                    sidecar.sidecar.Status, wire.StatusRequest(), within=ANSWERED_WITHIN
                )
            )
    except (CommandFailed, SeamarkError, SidecarError) as error:
        return Answer(silence=str(error))


def _lines(found: Sequence[Finding]) -> list[Text]:
    marks, arrow = (_MARKS, "→") if _can_show("✔✘→") else (_ASCII, "->")
    column = max(cell_len(each.name) for each in found)
    indent = column + 4
    width = max(_NARROWEST, text_width() - indent)
    lines: list[Text] = []
    for each in found:
        first, *more = wrapped(each.what, width)
        style = _STYLES[each.state]
        lines.append(
            Text(marks[each.state], style).append(f" {each.name.ljust(column)}  ").append(first)
        )
        if each.todo:
            more += wrapped(f"{arrow} {each.todo}", width)
        lines += [Text(" " * indent + line) for line in more]
    return [*lines, _conclusion(found)]


def _conclusion(found: Sequence[Finding]) -> Text:
    failures = sum(each.state is State.FAIL for each in found)
    warnings = sum(each.state is State.WARN for each in found)
    if failures:
        told = f"{counted(failures, 'problem')}, {counted(warnings, 'warning')}."
        return Text(told, _STYLES[State.FAIL])
    if warnings:
        return Text(f"Memory works; {counted(warnings, 'warning')}.", _STYLES[State.WARN])
    return Text("All is well.", _STYLES[State.OK])


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
