"""Checks what is installed beside Seamark to extend it."""

from __future__ import annotations

from seamark_sidecar.doctor.finding import Verdict, ok, warn
from seamark_sidecar.doctor.place import Place
from seamark_sidecar.methodology.registry import load
from seamark_sidecar.observer.calls.tool_rows import TOOLS_FILE, load_rows

MOST_NAMED = 3


def tools(place: Place) -> Verdict:
    """What the user says about tools of their own can be read."""
    rows, problems = load_rows(place.data_dir / TOOLS_FILE)
    count = len(rows.tools) + len(rows.programs) + len(rows.trusted_servers)
    if problems:
        return warn(f"{TOOLS_FILE}: {'; '.join(problems[:MOST_NAMED])}", "correct these rows")
    return ok(f"{count} rows of your own" if count else "those that Seamark knows")


def methodologies(place: Place) -> Verdict:
    """Every methodology plugin can be used."""
    del place
    registry = load()
    names = ", ".join(each.methodology.id for each in registry)
    if not registry.faults:
        return ok(names)
    faults = registry.faults
    named = "; ".join(
        f"{each.plugin} ({each.distribution or 'unknown'}): {each.what}"
        for each in faults[:MOST_NAMED]
    )
    more = f"; and {len(faults) - MOST_NAMED} more" if len(faults) > MOST_NAMED else ""
    return warn(
        f"{named}{more}; in use: {names}",
        "update or uninstall the package it names; until then the native methodology answers",
    )
