"""What a benchmark found: figures beside their peers, and whether they meet their bars."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

HEADINGS = ("figure", "measured", "beside", "ratio", "bar", "")


class Kind(StrEnum):
    """What a bar is held against."""

    VALUE = "value"
    # The figure as a multiple of its peer.
    RATIO = "ratio"
    # The peer as a multiple of the figure.
    SAVING = "saving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The most, or the least, that a figure or its ratio to its peer may be."""

    kind: Kind
    limit: float
    is_least: bool = False

    def is_met_by(self, held: float) -> bool:
        """Whether that is on the right side of it."""
        return held >= self.limit if self.is_least else held <= self.limit


def at_most(value: float) -> Bar:
    """A bar for the figure itself."""
    return Bar(kind=Kind.VALUE, limit=value)


def at_least(value: float) -> Bar:
    """A bar for a figure that should be large."""
    return Bar(kind=Kind.VALUE, limit=value, is_least=True)


def times_peer(ratio: float) -> Bar:
    """A bar for the figure as a multiple of its peer."""
    return Bar(kind=Kind.RATIO, limit=ratio)


def times_less(ratio: float) -> Bar:
    """A bar for a peer that must take at least so many times as much."""
    return Bar(kind=Kind.SAVING, limit=ratio, is_least=True)


_RATIO_UNITS = {Kind.RATIO: "×", Kind.SAVING: "× less"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure; without a bar it is there to be read."""

    figure: str
    value: float
    unit: str = ""
    # What was measured in the same run to compare with, in the same unit.
    peer: str = ""
    peer_value: float | None = None
    bar: Bar | None = None

    @property
    def ratio(self) -> float | None:
        """The figure as a multiple of its peer."""
        return self.value / self.peer_value if self.peer_value else None

    @property
    def is_met(self) -> bool | None:
        """Whether the bar is met; None without one."""
        if self.bar is None:
            return None
        held = self._held(self.bar.kind)
        # A ratio to nothing proves nothing.
        return held is not None and self.bar.is_met_by(held)

    def cells(self) -> tuple[str, ...]:
        """The row as text, one cell for each heading."""
        kind = Kind.SAVING if self.bar and self.bar.kind is Kind.SAVING else Kind.RATIO
        ratio = self._held(kind)
        beside = "" if self.peer_value is None else f"{self.peer} {_amount(self.peer_value)}"
        bar = ""
        if self.bar is not None:
            sign = "≥" if self.bar.is_least else "≤"
            unit = _RATIO_UNITS.get(self.bar.kind, self.unit)
            bar = f"{sign} {_amount(self.bar.limit)} {unit}".rstrip()
        return (
            self.figure,
            f"{_amount(self.value)} {self.unit}".rstrip(),
            beside,
            "" if ratio is None else f"{ratio:.2f} {_RATIO_UNITS[kind]}",
            bar,
            {None: "", True: "pass", False: "MISSED"}[self.is_met],
        )

    def _held(self, kind: Kind) -> float | None:
        """What a bar of that kind is held against."""
        match kind:
            case Kind.VALUE:
                return self.value
            case Kind.RATIO:
                return self.ratio
            case Kind.SAVING:
                return 1 / self.ratio if self.ratio else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one benchmark found, with what it needs to be read."""

    name: str
    # How much was measured, in words.
    counts: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether no bar was missed."""
        return all(row.is_met is not False for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Plain values, with ratios and verdicts."""
        return {
            **dataclasses.asdict(self),
            "rows": [
                {**dataclasses.asdict(row), "ratio": row.ratio, "is_met": row.is_met}
                for row in self.rows
            ],
            "is_met": self.is_met,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Report:
        """Reads what `as_json` wrote."""
        return cls(
            name=values["name"],
            counts=values["counts"],
            rows=tuple(_row(row) for row in values["rows"]),
            notes=tuple(values["notes"]),
        )


def _row(values: Mapping[str, Any]) -> Row:
    bar = values["bar"]
    return Row(
        figure=values["figure"],
        value=values["value"],
        unit=values["unit"],
        peer=values["peer"],
        peer_value=values["peer_value"],
        bar=Bar(kind=Kind(bar["kind"]), limit=bar["limit"], is_least=bar["is_least"])
        if bar
        else None,
    )


def table(rows: Sequence[Row]) -> str:
    """The rows in columns, for a terminal."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table of a Markdown page."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def parser(document: str | None) -> argparse.ArgumentParser:
    """A command line that explains itself with a module's docstring."""
    made = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print one object instead of a table")
    return made


def say(what: str) -> None:
    """Tells whoever waits what is being done."""
    print(f"  {what}", file=sys.stderr, flush=True)


def conclude(report: Report, *, as_json: bool) -> int:
    """Prints the report; returns the exit code, 1 when a bar was missed."""
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        print(f"{report.name}: {report.counts}\n\n{table(report.rows)}")
        for note in report.notes:
            print(textwrap.fill(note, 100, initial_indent="\n", subsequent_indent="  "))
    return 0 if report.is_met else 1


def _amount(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
