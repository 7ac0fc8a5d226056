"""Text that fits a width without cutting words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from seamark_sidecar.cli.terminal import plain

_ELLIPSIS = "…"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells; a longer word stands whole on its own line."""
    lines: list[str] = []
    for paragraph in plain(text, newlines=True).split("\n"):
        line = ""
        for word in paragraph.split():
            joined = f"{line} {word}" if line else word
            if line and cell_len(joined) > width:
                lines.append(line)
                joined = word
            line = joined
        lines.append(line)
    return lines


def shortened(text: str, width: int) -> str:
    """The first line that says something, ended after a whole word when it does not fit."""
    paragraphs = [line.strip() for line in plain(text, newlines=True).split("\n")]
    said = [line for line in paragraphs if line]
    if not said:
        return ""
    if len(said) == 1 and cell_len(said[0]) <= width:
        return said[0]
    first = wrapped(said[0], width - cell_len(_ELLIPSIS) - 1)[0]
    return f"{first} {_ELLIPSIS}"


def indented(lines: Iterable[str], indent: int, style: str = "") -> list[Text]:
    """The lines moved to the right."""
    return [Text(" " * indent).append(line, style) for line in lines]


def fields(rows: Sequence[tuple[str, str]], indent: int = 2) -> list[Text]:
    """Names and values in two columns."""
    column = max(cell_len(name) for name, _ in rows) + 2
    return [
        Text(" " * indent).append(name.ljust(column), "dim").append(plain(value))
        for name, value in rows
    ]


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def columns(rows: Sequence[Sequence[str]], *, right: frozenset[int], indent: int = 2) -> list[Text]:
    """Rows in aligned columns; those numbered in `right` end below each other."""
    tame = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*tame, strict=True)]
    return [
        Text(
            " " * indent
            + "  ".join(
                _padded(cell, width, right=number in right)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
        )
        for row in tame
    ]


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def size_of(size: int) -> str:
    """`0 kB`, `12 kB`, `3.4 MB`, `1.2 GB`."""
    if size < 1_000_000:
        return f"{-(-size // 1000):,} kB"
    if size < 1_000_000_000:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e9:,.1f} GB"
