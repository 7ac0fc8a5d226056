"""`seamark methodologies`: lists the ways of working that memory understands."""

from __future__ import annotations

import click
from rich.text import Text

from seamark_sidecar.cli.layout import fields
from seamark_sidecar.cli.options import json_option
from seamark_sidecar.cli.output import Json, show
from seamark_sidecar.cli.terminal import plain
from seamark_sidecar.methodology.registry import Fault, Listed, load


@click.command()
@json_option
def methodologies(as_json: bool) -> None:
    """List the methodologies: those that come with Seamark, and those of installed plugins.

    \b
    Example:
      seamark methodologies
    """
    registry = load()
    lines: list[Text | str] = []
    for each in registry:
        lines += _lines(each)
    for fault in registry.faults:
        lines.append(Text(f"! {plain(_told(fault))}", "bold yellow"))
    answer = {
        "methodologies": [_json(each) for each in registry],
        "faults": [
            {"plugin": each.plugin, "distribution": each.distribution, "what": each.what}
            for each in registry.faults
        ],
    }
    show(lines, answer, as_json=as_json)


def _lines(listed: Listed) -> list[Text]:
    methodology = listed.methodology
    phases = ", ".join(f"{name}: {phase}" for name, phase in methodology.phases.items())
    relays = ", ".join(f"{each.from_role} to {each.to_role}" for each in methodology.relays())
    types = ", ".join(each.name for each in methodology.types)
    head = Text(plain(methodology.id), "bold").append(f"  {plain(methodology.name)}", "")
    return [
        head,
        *fields(
            [
                ("phases", phases or "none"),
                ("relays", relays or "none"),
                ("memory types", types or "none of its own"),
                ("comes with", listed.distribution or "Seamark"),
            ]
        ),
    ]


def _json(listed: Listed) -> Json:
    methodology = listed.methodology
    return {
        "id": methodology.id,
        "name": methodology.name,
        "distribution": listed.distribution,
        "phases": {name: str(phase) for name, phase in methodology.phases.items()},
        "relays": [
            {
                "from": each.from_role,
                "to": each.to_role,
                "types": [str(name) for name in each.types],
            }
            for each in methodology.relays()
        ],
        "types": [
            {
                "name": each.name,
                "description": each.description,
                "half_life_days": each.half_life,
                "fields": {
                    name: {"kind": str(kind), "required": required}
                    for name, (kind, required) in each.fields.items()
                },
                "weights": {str(phase): weight for phase, weight in each.weights.items()},
            }
            for each in methodology.types
        ],
    }


def _told(fault: Fault) -> str:
    brought_by = f" (of {fault.distribution})" if fault.distribution else ""
    return f"the plugin {fault.plugin}{brought_by} is not used as it is: {fault.what}"
